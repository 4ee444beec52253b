# SPDX-License-Identifier: MIT
# Tests. tests/unit, model, stress and fault link the engine alone and run in every variant;
# tests/*_test.cpp drive the built library from outside, as preloaded and as linked.

comma := ,
# g++ 12 warns of <regex> itself, which Catch2 uses, when it compiles for the address sanitizer.
# The engine's suites inline it as users do, in the release build; the others have nothing to gain from
# optimisation, which takes half of the time to compile.
TEST_LEVEL_engine := $(if $(filter release,$(VARIANT)),,-O0)
TEST_LEVEL_outside := -O0
TEST_FLAGS = -std=c++20 -g1 -I. $(VARIANT_FLAGS) $(TEST_LEVEL_$(1)) -DPKTMALLOC_CHECKED=0 -DPKTMALLOC_HARDENED=0 -Wall -Wextra -Wshadow $(WERROR) -MMD -MP -pthread \
  $(if $(filter asan,$(VARIANT)),-Wno-maybe-uninitialized) -DPKTMALLOC_BUILD='"$(BUILD)"'
TESTS := $(BUILD)/tests

ENGINE_SUITES := unit model stress fault
# tests/fault stands between the engine and its memory verbs, by their mangled names.
LINK_fault := $(addprefix -Wl$(comma)--wrap=_ZN9pktmalloc6memory, \
  9find_roomEmmmm 3mapEPvm 6commitEPvm 8populateEPvm 5purgeEPvm 8withdrawEPvmb 7releaseEPvm \
  14take_from_poolEPvm)
# From outside the release is tried.
OUTSIDE_SUITES := $(if $(filter release,$(VARIANT)),$(patsubst tests/%_test.cpp,%,$(wildcard tests/*_test.cpp)))
# `make test` leaves these to `make test-long`, and the cases tagged [.long] of the others.
LONG_SUITES := bench bench_programs measurements page profiled_programs refusal simulated soak
# The models' runs are those under the address sanitizer.
SUITES := $(filter-out model $(LONG_SUITES),$(ENGINE_SUITES) $(OUTSIDE_SUITES))

kind = $(if $(findstring /,$*),engine,outside)
$(TESTS)/obj/%.o: tests/%.cpp
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) $(call TEST_FLAGS,$(kind)) -include $(TESTS)/obj/$(kind).h -c $< -o $@

# Read by -include instead of the header, which is not there: a third of the time to compile.
$(TESTS)/obj/%.h.gch: tests/libraries.h
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) $(call TEST_FLAGS,$*) -x c++-header $< -o $@

# Names of the objects of one suite. The thread sanitizer has nothing to look for where one thread works.
suite_sources = $(wildcard tests/$(1)/*_test.cpp)
suite_objects = $(patsubst tests/%.cpp,$(TESTS)/obj/%.o,$(if $(filter tsan-unit,$(VARIANT)-$(1)), \
  $(shell grep -l std::thread $(suite_sources)),$(suite_sources)))

define ENGINE_SUITE
$(call suite_objects,$(1)): $(TESTS)/obj/engine.h.gch
$(TESTS)/$(1): $(call suite_objects,$(1)) $(ENGINE)
	$$(call say,LINK)
	$$(Q)$(CXX) $(VARIANT_FLAGS) -pthread $$^ -lCatch2WithMain $(LINK_$(1)) -o $$@
-include $(patsubst %.o,%.d,$(call suite_objects,$(1)))
endef
$(foreach suite,$(ENGINE_SUITES),$(eval $(call ENGINE_SUITE,$(suite))))

$(OUTSIDE_SUITES:%=$(TESTS)/%): $(TESTS)/%: $(TESTS)/obj/%_test.o $(TESTS)/obj/program.o
	$(call say,TEST)
	$(Q)$(CXX) -pthread $^ -lCatch2WithMain $(LINK_$*) -o $@
$(OUTSIDE_SUITES:%=$(TESTS)/obj/%_test.o) $(TESTS)/obj/program.o: $(TESTS)/obj/outside.h.gch
-include $(OUTSIDE_SUITES:%=$(TESTS)/obj/%_test.d) $(TESTS)/obj/program.d
# Those of traces read them as the command does.
TRACE_SUITES := trace trace_file trace_order trace_compression trace_damage replay recording
$(TRACE_SUITES:%=$(TESTS)/%): \
  $(addprefix $(BUILD)/obj/tools/command/,file_kind.o $(addprefix system/,output_file.o standard_output.o) $(addprefix replay/,trace.o blocks.o plain_file.o))
$(foreach suite,$(TRACE_SUITES),$(eval LINK_$(suite) := -lfmt -lzstd))
# What it tells of control groups, and where it looks for files, is tried by itself.
$(TESTS)/exporter: $(addprefix $(BUILD)/obj/tools/command/,exporter/unit.o system/process.o system/image.o system/remote_memory.o)
LINK_exporter := -lfmt
# The tests of the benchmarks run these; tools/bench/bench.mk has the rules.
$(addprefix $(TESTS)/,bench measurements page): | \
  $(addprefix $(BUILD)/bench/,measure w5_ring libempty.so)
$(TESTS)/bench_programs: | \
  $(addprefix $(BUILD)/bench/,after drift passing w1_packets w2_pipeline w6_larson w6_pages w6_sizes)
# So do those of the simulated core.
$(TESTS)/simulated: | $(addprefix $(BUILD)/bench/,crossings simulator)

# One behaviour each, compiled once and linked three ways: plain (to be preloaded), shared, static.
PROGRAM_SOURCES := $(wildcard tests/programs/*.c tests/programs/*.cpp)
PROGRAM_NAMES := $(basename $(notdir $(PROGRAM_SOURCES)))
# The archive's operators and a program's own cannot be linked into one.
PROGRAMS := $(filter-out $(TESTS)/bin/replaced_%-static, \
  $(foreach way,plain shared static,$(PROGRAM_NAMES:%=$(TESTS)/bin/%-$(way))))
PROGRAM_FLAGS := -g -O1 -Ipreload/contract -Wall -Wextra $(WERROR) -Wno-unused-result -fno-builtin -pthread -MMD -MP
PROGRAM_LINK_plain :=
PROGRAM_LINK_shared := -L$(BUILD) -Wl,--no-as-needed -lpktmalloc -Wl,-rpath,'$$ORIGIN/../..'
PROGRAM_LINK_static := -Wl,--whole-archive $(BUILD)/libpktmalloc.a -Wl,--no-whole-archive
# What a program is linked anew for; the others need the library only when they run.
PROGRAM_NEEDS_plain := |
PROGRAM_NEEDS_shared := | $(LIBRARIES)
PROGRAM_NEEDS_static := $(LIBRARIES)

$(TESTS)/bin/%.c.o: tests/programs/%.c
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CC) -std=gnu17 $(PROGRAM_FLAGS) -c $< -o $@
$(TESTS)/bin/%.cpp.o: tests/programs/%.cpp
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) -std=c++20 $(PROGRAM_FLAGS) -c $< -o $@
.SECONDARY: $(PROGRAM_SOURCES:tests/programs/%=$(TESTS)/bin/%.o)
-include $(PROGRAM_SOURCES:tests/programs/%=$(TESTS)/bin/%.d)

# A C++ program and a C program are linked by their own drivers; both may load further libraries.
define PROGRAM_RULES
$(TESTS)/bin/%-$(1): $(TESTS)/bin/%.c.o $$(PROGRAM_NEEDS_$(1))
	$$(Q)$$(CC) -pthread $$< -o $$@ $$(PROGRAM_LINK_$(1)) -ldl
$(TESTS)/bin/%-$(1): $(TESTS)/bin/%.cpp.o $$(PROGRAM_NEEDS_$(1))
	$$(Q)$$(CXX) -pthread $$< -o $$@ $$(PROGRAM_LINK_$(1)) -ldl
endef
$(foreach way,plain shared static,$(eval $(call PROGRAM_RULES,$(way))))
# Programs for the checked and the hardened library.
TWIN_PROGRAMS := $(foreach twin,$(TWINS),$(patsubst tests/$(twin)/%.cpp,$(TESTS)/bin/%-$(twin), \
  $(wildcard tests/$(twin)/*.cpp)))
define TWIN_PROGRAM
$(TESTS)/bin/%-$(1): tests/$(1)/%.cpp
	@mkdir -p $$(@D)
	$$(call say,TEST)
	$$(Q)$$(CXX) -std=c++20 -I. $$(PROGRAM_FLAGS) -Wno-free-nonheap-object -Wno-use-after-free $$< -o $$@
endef
$(foreach twin,$(TWINS),$(eval $(call TWIN_PROGRAM,$(twin))))
-include $(TWIN_PROGRAMS:%=%.d)
# Those that commit the error they are told.
HEAP_ERROR := $(TESTS)/bin/heap_error-plain
FAULT_HANDLERS := $(TESTS)/bin/fault_handlers-plain
$(HEAP_ERROR): tests/errors/heap_error.cpp
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) -std=c++20 $(PROGRAM_FLAGS) $< -o $@
$(FAULT_HANDLERS): tests/errors/fault_handlers.c
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CC) -std=gnu17 -I. $(PROGRAM_FLAGS) -rdynamic $< -o $@
# The one that counts its instructions.
STEPPED := $(TESTS)/bin/stepped-plain
$(STEPPED): tests/golden/stepped.cpp
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) -std=c++20 -I. $(PROGRAM_FLAGS) $< -o $@
-include $(HEAP_ERROR).d $(FAULT_HANDLERS).d $(STEPPED).d
# Small libraries that programs load.
PLUGINS := $(patsubst tests/plugins/%.cpp,$(TESTS)/plugins/%.so,$(wildcard tests/plugins/*.cpp))
$(TESTS)/plugins/%.so: tests/plugins/%.cpp
	@mkdir -p $(@D)
	$(call say,TEST)
	$(Q)$(CXX) -std=c++20 -g -O1 -fPIC -shared -Wall -Wextra $(WERROR) $< -o $@ -Wl,-rpath,'$$ORIGIN'

# A suite can be built and run alone: with it comes what any of them starts, but for linked programs
# only these, unless it is `programs`.
LINKED := double_free_in_a_batch_is_told double_free_is_told double_free_of_many_is_told free_inside_a_block_is_told free_inside_an_object_is_told free_of_what_never_was_is_told hello holds_known_types holds_until_it_ends loses_known_objects \
  is_read_from_outside known_calls leaks_known_objects overwrites_its_environment \
  peak_of_random_sizes profiled_while_it_runs sleeps_undisturbed statistics_are_exact tells_itself traced_while_it_runs
OTHERS := $(filter-out programs,$(OUTSIDE_SUITES))
$(OUTSIDE_SUITES:%=$(TESTS)/%): | $(LIBRARIES) $(PROGRAM_NAMES:%=$(TESTS)/bin/%-plain) $(PLUGINS)
$(OTHERS:%=$(TESTS)/%): | $(COMMAND) $(TWIN_PROGRAMS) $(foreach way,shared static,$(LINKED:%=$(TESTS)/bin/%-$(way)))
$(TESTS)/programs: | $(PROGRAMS)
$(addprefix $(TESTS)/,heap_errors hardened): | $(HEAP_ERROR)
$(TESTS)/sample_guard: | $(FAULT_HANDLERS)
$(TESTS)/fast_path: | $(STEPPED)

.PHONY: tests
tests: $(ENGINE) $(LIBRARIES) $(SUITES:%=$(TESTS)/%)  ## build the tests of this VARIANT

.PHONY: test
ifneq ($(ARCH),)
test: $(CROSS_ROOT)
	$(MAKE) $(JOBS) $(CROSS_SUITES:%=$(TESTS)/%)
	tools/cross/run.sh $(CROSS_ROOT) $(KERNEL) python3 tests/run.py $(CROSS_SUITES:%=$(TESTS)/%) \
	  --long $(addprefix $(TESTS)/,checked hardened options statistics)
else
test: deps  ## what tells whether a build is right, in six minutes; closes with "N passed, N failed, N skipped"
	$(MAKE) $(JOBS) tests
	$(PYTHON) tests/run.py $(SUITES:%=build/tests/%)
endif

# The engine under the sanitizers, the programs under the debug build, which checks the order of locks.
SANITIZED := $(addprefix build/asan/tests/,unit model fault) $(addprefix build/tsan/tests/,unit stress)
WANTED_debug := library
WANTED_asan := $(filter build/asan/%,$(SANITIZED))
WANTED_tsan := $(filter build/tsan/%,$(SANITIZED))
VARIANTS := variant-debug variant-asan variant-tsan
.PHONY: $(VARIANTS) tests-long
$(VARIANTS): variant-%:
	$(MAKE) --no-print-directory VARIANT=$* $(WANTED_$*)
tests-long: tests $(LONG_SUITES:%=$(TESTS)/%) $(VARIANTS)

LONG_RUNS := $(SANITIZED) $(LONG_SUITES:%=build/tests/%) --target fuzz --target test-threads \
  --long $(SUITES:%=build/tests/%)
.PHONY: test-long
test-long: deps  ## the rest: sanitizers, models, fuzzing, threads, demanding programs (SECONDS=60 THREADS=1000000)
	$(MAKE) $(JOBS) tests-long
	$(PYTHON) tests/run.py $(LONG_RUNS)

.PHONY: test-all
test-all: deps  ## all tests: test and test-long
	$(MAKE) $(JOBS) tests-long
	$(PYTHON) tests/run.py $(SUITES:%=build/tests/%) $(LONG_RUNS)

THREADS ?= 1000000
.PHONY: test-threads
test-threads: $(BUILD)/libpktmalloc.so $(TESTS)/bin/thread_churn_is_bounded-plain  ## a million threads come and go (THREADS=1000000)
	LD_PRELOAD=$(BUILD)/libpktmalloc.so $(TESTS)/bin/thread_churn_is_bounded-plain $(THREADS)

.PHONY: test-quick
test-quick: $(TESTS)/unit $(if $(OUTSIDE_SUITES),$(TESTS)/golden)  ## the unit tests and golden files of this VARIANT
	$(PYTHON) tests/run.py $^
