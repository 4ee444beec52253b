# SPDX-License-Identifier: MIT
# `make check` is the one definition of clean.

CHECK_CODE := $(wildcard $(addsuffix /*.h,sizeclass/* preload/* tests tests/* tools/* tools/*/*) \
  preload/contract/*.hpp $(addsuffix /*.cpp,sizeclass/* preload/* tests tests/* tools/* tools/*/*) $(addsuffix /*.c,tests/* tools/*/*))

.PHONY: check
check: deps  ## format, clang-tidy, layers, size, golden files, unit tests, the model of the depot, the library for musl
	$(MAKE) $(JOBS) check-format check-layers check-docs check-size check-tidy check-model check-musl test-quick

.PHONY: check-format
check-format:  ## every source file is formatted
	$(Q)clang-format --dry-run -Werror $(CHECK_CODE)

.PHONY: format
format:  ## format every source file
	$(Q)clang-format -i $(CHECK_CODE)

.PHONY: check-layers
check-layers:  ## includes point down
	$(PYTHON) tools/check/layers.py

.PHONY: check-docs
check-docs:  ## the documents' tables agree with what they are made from
	$(PYTHON) tools/check/docs.py --check

.PHONY: check-size
check-size:  ## words of the documents and lines of code, within their bounds
	$(PYTHON) tools/check/size.py

.PHONY: docs
docs:  ## write the generated parts of the documents anew
	$(PYTHON) tools/check/docs.py

# ONLY names the libraries to run; the verdicts of the others stay.
ONLY ?=
.PHONY: heap-errors
heap-errors: $(LIBRARIES) $(HEAP_ERROR)  ## tries heap errors under every allocator and writes docs/heap_errors.md anew (ONLY="pktmalloc checked")
	$(PYTHON) tools/check/heap_errors.py $(BUILD) --update $(ONLY:%=--library %)
	$(MAKE) --no-print-directory docs

# By the kind of library that they are compiled for.
TIDY_normal := $(ENGINE_SOURCES) $(PRELOAD_SOURCES)
TIDY_checked := $(wildcard preload/checked/*.cpp)
TIDY_hardened := $(wildcard preload/hardened/*.cpp)
.PHONY: check-tidy
check-tidy: $(patsubst %,$(BUILD)/tidy/%.cpp,normal $(TWINS))  ## clang-tidy, with what each lock guards

$(BUILD)/tidy/%.cpp: $(ENGINE_SOURCES) $(PRELOAD_SOURCES) $(wildcard preload/checked/*.cpp preload/hardened/*.cpp \
    sizeclass/*/*.h preload/*/*.h) .clang-tidy tools/check/tidy.py
	$(call say,TIDY)
	$(Q)$(PYTHON) tools/check/tidy.py $@ $(TIDY_$*) || { rm -f $@; exit 1; }

# `make test-fresh COMMANDS=demo` for the shorter one alone.
COMMANDS ?= demo test
.PHONY: test-fresh
test-fresh: package-deps  ## the README's two commands in a fresh Debian 12 (COMMANDS="demo test"); half an hour
	tools/check/fresh.sh "$(COMMANDS)"
