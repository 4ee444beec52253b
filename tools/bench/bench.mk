# SPDX-License-Identifier: MIT
# The benchmarks: programs in $(BUILD)/bench/, peers in $(BUILD)/peers/, records and pages beside
# the programs. Works by itself, too:
#   make -f tools/bench/bench.mk BUILD=/tmp/build bench-programs

BUILD ?= build
# Debian's own, which the packages with its libraries belong to.
BENCH_PYTHON ?= /usr/bin/python3
WERROR ?= -Werror

BENCH_DIRECTORY := $(BUILD)/bench
BENCH_CXX_PROGRAMS := $(patsubst tools/bench/programs/%.cpp,$(BENCH_DIRECTORY)/%, \
  $(wildcard tools/bench/programs/*.cpp))
BENCH_C_PROGRAMS := $(BENCH_DIRECTORY)/startup $(BENCH_DIRECTORY)/measure
BENCH_EMPTY := $(BENCH_DIRECTORY)/libempty.so

# No built-in knowledge of malloc: every call that a program makes is a call.
BENCH_FLAGS := -I. -O2 -g -pthread -Wall -Wextra -Wshadow -Wundef $(WERROR) -MMD -MP \
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
# Functions start on a cache line: the empty library has to be the fastest possible one.
BENCH_EMPTY_FLAGS := -std=c11 -fPIC -shared -falign-functions=64 -Wl,-z,now

BENCH = $(BENCH_PYTHON) tools/bench/bench.py --build $(BUILD) --json $(BENCH_DIRECTORY)/$@.json
BENCH_PAGE = --html $(BENCH_DIRECTORY)/$@.html

include tools/bench/peers/peers.mk
include tools/bench/others/others.mk
include tools/bench/simulated/simulated.mk

.PHONY: bench-programs
bench-programs: $(BENCH_CXX_PROGRAMS) $(BENCH_C_PROGRAMS) $(BENCH_EMPTY)  ## build the workloads

.PHONY: bench-quick
bench-quick: bench-deps  ## the main workloads against glibc and three peers, in about five minutes
	$(MAKE) --no-print-directory all bench-programs
	$(BENCH) --suite quick $(BENCH_OPTIONS)

.PHONY: bench
bench: bench-deps  ## all workloads, with a page of charts, in a quarter of an hour
	$(MAKE) --no-print-directory all bench-programs bench-others
	$(BENCH) --suite standard $(BENCH_PAGE) $(BENCH_OPTIONS)

.PHONY: bench-full
bench-full: bench-deps  ## the published amounts of work, the newest peers too; hours
	@sh tools/deps/install.sh $(BENCH_FULL_PACKAGES)
	$(MAKE) --no-print-directory all bench-programs bench-others peers
	$(BENCH) --suite full --newest $(BENCH_PAGE) $(BENCH_OPTIONS)

.PHONY: bench-huge-pages
bench-huge-pages: bench-deps  ## W1 to W7 with every setting of transparent huge pages (as root)
	$(MAKE) --no-print-directory all bench-programs
	$(BENCH_PYTHON) tools/bench/huge_pages.py --build $(BUILD) $(BENCH_OPTIONS)

# The record to publish: make bench-publish BENCH_RECORD=build/bench/bench-full.json
BENCH_RECORD ?= $(BENCH_DIRECTORY)/bench.json

.PHONY: bench-publish
bench-publish:  ## put figures and pictures of the latest `make bench` into the documents
	$(BENCH_PYTHON) tools/bench/summary.py $(BENCH_RECORD) tools/bench/published.json
	$(BENCH_PYTHON) tools/bench/page.py $(BENCH_RECORD) --png docs
	$(MAKE) --no-print-directory docs

$(BENCH_CXX_PROGRAMS): $(BENCH_DIRECTORY)/%: tools/bench/programs/%.cpp
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++20 $(BENCH_FLAGS) $< $(BENCH_LIBRARIES) -o $@

$(BENCH_DIRECTORY)/micro: BENCH_LIBRARIES := -lbenchmark

$(BENCH_C_PROGRAMS): $(BENCH_DIRECTORY)/%: tools/bench/programs/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 $(BENCH_FLAGS) $< -o $@

$(BENCH_EMPTY): tools/bench/programs/floor_empty.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_FLAGS) $(BENCH_EMPTY_FLAGS) $< -o $@

-include $(wildcard $(BENCH_DIRECTORY)/*.d)
