# SPDX-License-Identifier: MIT
# pktmalloc. `make help` lists the targets; README.md says what they are for.

VARIANT ?= release
ifeq ($(filter $(VARIANT),release debug asan tsan),)
$(error VARIANT=$(VARIANT) is unknown; accepted: release debug asan tsan)
endif
# For another processor, in build/ARCH (tools/cross).
ARCH ?=
ifneq ($(filter-out aarch64,$(ARCH)),)
$(error ARCH=$(ARCH) is unknown; accepted: aarch64)
endif
# For another C library, in build/musl (tools/musl).
LIBC ?= glibc
ifneq ($(filter-out glibc musl,$(LIBC)),)
$(error LIBC=$(LIBC) is unknown; accepted: glibc musl)
endif
CROSS_ROOT := build/$(ARCH)/root
CROSS_LIBRARIES := build/$(ARCH)/libraries
BUILD := build$(ARCH:%=/%)$(patsubst %,/%,$(filter-out glibc,$(LIBC)))$(patsubst %,/%,$(filter-out release,$(VARIANT)))
SANITIZER := $(filter asan tsan,$(VARIANT))

VERSION := $(shell sed -n 's/^\#define PKTMALLOC_VERSION "\(.*\)"/\1/p' preload/contract/pktmalloc.h)
SONAME := libpktmalloc.so.0

CROSS := $(ARCH:%=%-linux-gnu-)
# Libraries and headers for command and tests; the library needs none.
CROSS_SYSROOT := $(if $(ARCH),--sysroot=$(or $(wildcard $(CROSS_ROOT)),$(CROSS_LIBRARIES)))
CXX := $(CROSS)g++ $(CROSS_SYSROOT)
CC := $(CROSS)gcc $(CROSS_SYSROOT)
AR := $(CROSS)gcc-ar
CROSS_STRIP := $(CROSS)strip
PYTHON ?= python3
.DEFAULT_GOAL := all
include tools/musl/musl.mk

# For another make: quiet, and as many jobs as there are processors unless this one was told how many.
JOBS = --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
# `make V=1` shows the commands.
say = @$(if $(V),:,printf '  %-4s %s\n' $(1) $@)
Q := $(if $(V),,@)

# `make WERROR=` lets warnings of other compilers pass.
WERROR ?= -Werror
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wundef -Wold-style-cast $(WERROR)

FLAGS_release := -O2 -DPKTMALLOC_DEBUG=0
FLAGS_debug := -O1 -DPKTMALLOC_DEBUG=1
FLAGS_asan := -O1 -DPKTMALLOC_DEBUG=1 -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-omit-frame-pointer
FLAGS_tsan := -O1 -DPKTMALLOC_DEBUG=1 -fsanitize=thread
VARIANT_FLAGS := $(FLAGS_$(VARIANT))

# The library is linked with the C driver and may need nothing but libc: no exceptions, no RTTI, no
# guarded statics. Functions are aligned because malloc and free are worth a cache line each:
# measured 6 % on a malloc+free pair. In rooms that no common call enters that would cost pages.
# Small variables lie side by side, behind large tables and what is aligned to 64 bytes: a process
# that starts writes to few pages.
COLD_ROOMS := $(patsubst %,preload/%/%,base formats guard process recording reports stacks)
LIBRARY_FLAGS = -std=c++20 -g -I. $(VARIANT_FLAGS) $(WARNINGS) -MMD -MP -fPIC $(KIND_FLAGS) $(MUSL_FLAGS) \
  -fvisibility=hidden -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-math-errno \
  -ftls-model=initial-exec -falign-functions=64 -fdata-sections \
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
EXPORTS := preload/contract/exports.map
SEGMENTS := preload/contract/segments.ld
LIBRARY_LINK := -shared -static-libgcc -Wl,--exclude-libs,ALL -Wl,--sort-section=alignment -Wl,-soname,$(SONAME) -Wl,-z,relro,-z,now,-z,defs,-z,nodelete \
  -Wl,--version-script=$(EXPORTS),-T,$(SEGMENTS)

ENGINE_SOURCES := $(wildcard sizeclass/*/*.cpp)
PRELOAD_SOURCES := $(filter-out preload/checked/% preload/hardened/% $(MUSL_LEAVES),$(wildcard preload/*/*.cpp)) $(MUSL_SOURCES)
ENGINE_OBJECTS := $(ENGINE_SOURCES:%.cpp=$(BUILD)/obj/%.o)
PRELOAD_OBJECTS := $(PRELOAD_SOURCES:%.cpp=$(BUILD)/obj/%.o)
# The hardened and the checked library: more sources, and those that ask for the kind of library
# compiled again. The others are not told the kind: one that asks and is not found here does not
# compile. Of the debug build only the normal library is wanted, `make
# build/debug/libpktmalloc-checked.so` apart.
TWINS := hardened checked
KIND_SOURCES := $(shell grep -lE 'PKTMALLOC_(CHECKED|HARDENED)|exports/front\.h|base/this_library\.h' \
  $(PRELOAD_SOURCES))
twin_objects = $(patsubst %.cpp,$(BUILD)/obj-$(1)/%.o,$(KIND_SOURCES) $(wildcard preload/$(1)/*.cpp)) \
  $(patsubst %.cpp,$(BUILD)/obj/%.o,$(filter-out $(KIND_SOURCES),$(PRELOAD_SOURCES)))
KIND_FLAGS = $(if $(filter $(BUILD)/obj-% $(KIND_SOURCES:%.cpp=$(BUILD)/obj/%.o),$@), \
  -DPKTMALLOC_CHECKED=$(if $(filter $(BUILD)/obj-checked/%,$@),1,0) \
  -DPKTMALLOC_HARDENED=$(if $(filter $(BUILD)/obj-hardened/%,$@),1,0))

ENGINE := $(BUILD)/libsizeclass.a
TWIN_LIBRARIES := $(TWINS:%=$(BUILD)/libpktmalloc-%.so)
LIBRARIES := $(if $(SANITIZER),,$(BUILD)/libpktmalloc.so $(BUILD)/libpktmalloc.a \
  $(if $(filter release,$(VARIANT)),$(TWIN_LIBRARIES)))

.PHONY: all
all: $(ENGINE) $(LIBRARIES) $(if $(SANITIZER),,$(BUILD)/pktmalloc)  ## build libraries and command (VARIANT=release|debug; asan, tsan: the engine)

# $(call library_objects,FOLDER): how the library's objects come into that folder. The headers are
# compiled first, and read by -include instead of the header, which is not there.
define library_objects
$(1)/libraries.h.gch: sizeclass/base/libraries.h Makefile
	@mkdir -p $$(@D)
	$$(call say,CXX)
	$$(Q)$$(CXX) $$(LIBRARY_FLAGS) -x c++-header $$< -o $$@

$(1)/%.o: %.cpp $(1)/libraries.h.gch
	@mkdir -p $$(@D)
	$$(call say,CXX)
	$$(Q)$$(CXX) $$(LIBRARY_FLAGS) $$(if $$(filter $$(COLD_ROOMS),$$<),-falign-functions=1) -Winvalid-pch -include $(1)/libraries.h -c $$< -o $$@
endef
$(eval $(call library_objects,$(BUILD)/obj))

$(ENGINE): $(ENGINE_OBJECTS)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libpktmalloc.a: $(filter-out %/exports/abort.o %/exports/loader_walk.o %/musl/sigaction.o,$(ENGINE_OBJECTS) $(PRELOAD_OBJECTS))
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libpktmalloc.so: $(ENGINE_OBJECTS) $(PRELOAD_OBJECTS) $(EXPORTS) $(SEGMENTS)
	$(call say,LINK)
	$(Q)$(CC) $(LIBRARY_LINK) -o $@ $(filter %.o,$^)
	$(Q)ln -sf libpktmalloc.so $(BUILD)/$(SONAME)

# The same name for the loader: preloaded under a program that was linked with the normal library,
# it takes that one's place.
define TWIN
$(call library_objects,$(BUILD)/obj-$(1))

$(BUILD)/libpktmalloc-$(1).so: $(ENGINE_OBJECTS) $(call twin_objects,$(1)) $(EXPORTS) $(SEGMENTS)
	$$(call say,LINK)
	$$(Q)$$(CC) $$(LIBRARY_LINK) -o $$@ $$(filter %.o,$$^)
-include $(patsubst %.o,%.d,$(call twin_objects,$(1)))
endef
$(foreach twin,$(TWINS),$(eval $(call TWIN,$(twin))))

-include $(ENGINE_OBJECTS:.o=.d) $(PRELOAD_OBJECTS:.o=.d)

include tools/command/command.mk
include tests/tests.mk
include tests/fuzz/fuzz.mk
include tests/spin/spin.mk
include tools/check/check.mk
include tools/bench/bench.mk
include tools/soak/soak.mk
include tools/leaks/leaks.mk
include tools/deps/deps.mk
include tools/install/install.mk
include tools/older/older.mk
include tools/cross/cross.mk
include tools/package/package.mk
include tools/package/wheel/wheel.mk
include tools/package/crate/crate.mk
include tools/package/image/image.mk

.PHONY: library
library: $(BUILD)/libpktmalloc.so $(BUILD)/libpktmalloc.a  ## build the shared library and the archive alone

.PHONY: demo
demo: demo-deps  ## two real programs and a packet workload, without and with the library
	$(MAKE) $(JOBS) $(BUILD)/libpktmalloc.so $(BENCH_DIRECTORY)/w1_packets
	$(PYTHON) tools/demo/demo.py $(BUILD)/libpktmalloc.so

.PHONY: clean
clean:  ## remove everything that was built
	rm -rf build

.PHONY: help
help:  ## this list
	@echo "make TARGET [VARIANT=release|debug|asan|tsan] [ARCH=aarch64] [LIBC=musl]"
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## */\1\t/' | \
	  while IFS="$$(printf '\t')" read -r target text; do printf '  %-14s %s\n' "$$target" "$$text"; done
