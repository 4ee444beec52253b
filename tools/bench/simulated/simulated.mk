# SPDX-License-Identifier: MIT
# The judge beside the clock: $(BUILD)/bench/simulator counts what a trace of valgrind's costs.

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
