# SPDX-License-Identifier: MIT
# The benchmark programs, in $(BUILD)/bench/. Works by itself, too:
#   make -f tools/bench/bench.mk BUILD=/tmp/build bench-programs

BUILD ?= build
PYTHON ?= python3
WERROR ?= -Werror

BENCH_DIRECTORY := $(BUILD)/bench
BENCH_CXX_PROGRAMS := \
  $(patsubst tools/bench/programs/%.cpp,$(BENCH_DIRECTORY)/%,$(wildcard tools/bench/programs/*.cpp))
BENCH_C_PROGRAMS := $(BENCH_DIRECTORY)/startup
BENCH_EMPTY := $(BENCH_DIRECTORY)/libempty.so

# No built-in knowledge of malloc: every call that a program makes is a call.
BENCH_FLAGS := -O2 -g -pthread -Wall -Wextra -Wshadow -Wundef $(WERROR) -MMD -MP \
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
# Functions start on a cache line: the empty library has to be the fastest possible one.
BENCH_EMPTY_FLAGS := -std=c11 -fPIC -shared -falign-functions=64 -Wl,-z,now

.PHONY: bench-programs
bench-programs: $(BENCH_CXX_PROGRAMS) $(BENCH_C_PROGRAMS) $(BENCH_EMPTY)  ## build the workloads

.PHONY: bench-quick
bench-quick: deps  ## all workloads against glibc and three peers, in about five minutes
	$(MAKE) --no-print-directory all bench-programs
	$(PYTHON) tools/bench/quick.py --programs $(BENCH_DIRECTORY) --library $(BUILD)/libpktmalloc.so

$(BENCH_CXX_PROGRAMS): $(BENCH_DIRECTORY)/%: tools/bench/programs/%.cpp
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++20 $(BENCH_FLAGS) $< -o $@

$(BENCH_C_PROGRAMS): $(BENCH_DIRECTORY)/%: tools/bench/programs/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 $(BENCH_FLAGS) $< -o $@

$(BENCH_EMPTY): tools/bench/programs/floor_empty.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_FLAGS) $(BENCH_EMPTY_FLAGS) $< -o $@

-include $(wildcard $(BENCH_DIRECTORY)/*.d)
