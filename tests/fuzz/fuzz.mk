# SPDX-License-Identifier: MIT
# The heap under libFuzzer, with the address sanitizer and the checks of the debug build. clang has
# the fuzzer, so this is built by clang. What was learnt stays in build/fuzz/corpus for the next run.

SECONDS ?= 60
FUZZ := build/fuzz
FUZZ_FLAGS := -std=c++20 -g -O1 -I. -DPKTMALLOC_DEBUG=1 -Wall -Wextra -MMD -MP
FUZZ_OBJECTS := $(patsubst %.cpp,$(FUZZ)/obj/%.o,$(ENGINE_SOURCES) tests/fuzz/heap_fuzz.cpp)

$(FUZZ)/obj/%.o: %.cpp
	@mkdir -p $(@D)
	$(call say,FUZZ)
	$(Q)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address -c $< -o $@

$(FUZZ)/heap_fuzz: $(FUZZ_OBJECTS)
	$(call say,LINK)
	$(Q)clang++ -fsanitize=fuzzer,address $^ -o $@
-include $(FUZZ_OBJECTS:.o=.d)

ROUNDS ?= 100
SEED ?= 1
CALLS := $(BUILD)/tests/bin/random_calls_of_all_functions-plain
.PHONY: fuzz-calls
fuzz-calls: all $(CALLS)  ## random calls of all functions under each library (ROUNDS=100 SEED=1)
	for kind in "" -hardened -checked; do \
	  LD_PRELOAD=$(BUILD)/libpktmalloc$$kind.so $(CALLS) $(ROUNDS) $(SEED) || exit 1; done

.PHONY: fuzz
fuzz:  ## the heap under libFuzzer and the address sanitizer (SECONDS=60)
	@sh tools/deps/install.sh $(FUZZ_PACKAGES)
	$(MAKE) --no-print-directory $(FUZZ)/heap_fuzz
	@mkdir -p $(FUZZ)/corpus
	$(FUZZ)/heap_fuzz -verbosity=0 -max_total_time=$(SECONDS) -max_len=1000 -len_control=0 -use_cmp=0 \
	  -rss_limit_mb=4096 -artifact_prefix=$(FUZZ)/ $(FUZZ)/corpus || \
	  { echo "fuzz: found a fault; see $(FUZZ)/crash-*; $(FUZZ)/heap_fuzz FILE repeats it," \
	    "with -minimize_crash=1 -runs=20000 it is made smaller"; exit 1; }
