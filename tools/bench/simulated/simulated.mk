# SPDX-License-Identifier: MIT
# The judges beside the clock: $(BUILD)/bench/simulator counts what a trace of valgrind's costs, and
# $(BUILD)/bench/crossings the cache lines that go from processor to processor.

SIMULATOR := $(BENCH_DIRECTORY)/simulator

$(SIMULATOR): tools/bench/simulated/simulator.cpp
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++20 $(BENCH_FLAGS) -Wconversion $< -o $@

.PHONY: bench-simulated
bench-simulated: bench-deps  ## misses of short runs on a simulated core, not the clock; half an hour
	$(MAKE) --no-print-directory all bench-programs $(SIMULATOR)
	$(BENCH_PYTHON) tools/bench/simulated/simulated.py --build $(BUILD) \
	  --json $(BENCH_DIRECTORY)/$@.json $(BENCH_OPTIONS)

# The engine once more, with each of its references announced; see references.h.
CROSSINGS := $(BENCH_DIRECTORY)/crossings
CROSSINGS_OBJECTS := $(patsubst %.cpp,$(BUILD)/announced/%.o, \
  $(wildcard sizeclass/*/*.cpp) tools/bench/simulated/crossings.cpp)
CROSSINGS_FLAGS := -std=c++20 -I. -O2 -g -Wall -Wextra $(WERROR) -MMD -MP -DPKTMALLOC_DEBUG=0 \
  -DPKTMALLOC_CHECKED=0 -DPKTMALLOC_HARDENED=0 -DPKTMALLOC_STANDING_CLOCK

$(BUILD)/announced/%.o: %.cpp
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(CROSSINGS_FLAGS) -fsanitize=thread -c $< -o $@

$(CROSSINGS): tools/bench/simulated/references.cpp $(CROSSINGS_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(CROSSINGS_FLAGS) $(filter %.cpp %.o,$^) \
	  -Wl,--wrap=pthread_mutex_lock,--wrap=pthread_mutex_trylock,--wrap=pthread_mutex_unlock \
	  -Wl,--wrap=clock_gettime -o $@

-include $(CROSSINGS_OBJECTS:.o=.d)

.PHONY: bench-crossings
bench-crossings: bench-deps  ## cache lines that go between 2 to 64 simulated processors; two minutes
	$(MAKE) --no-print-directory all bench-programs $(CROSSINGS)
	$(BENCH_PYTHON) tools/bench/simulated/crossings.py --build $(BUILD)
