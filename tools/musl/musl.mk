# SPDX-License-Identifier: MIT
# `make library LIBC=musl`: the plain library for programs of musl (Alpine), in build/musl. The same sources,
# compiled by Debian's g++ with musl's headers and one that has what only glibc names; the library needs
# no C++ runtime. Without command and twins.

ifeq ($(LIBC),musl)
CC := musl-gcc
MUSL_KERNEL := build/musl/kernel
MUSL_VERSION := $(shell $(CXX) -dumpversion)
MUSL_FLAGS := -nostdinc -nostdinc++ $(addprefix -isystem ,tools/musl \
  /usr/include/c++/$(MUSL_VERSION) /usr/include/$(shell $(CXX) -print-multiarch)/c++/$(MUSL_VERSION) \
  /usr/include/$(shell uname -m)-linux-musl $(shell $(CXX) -print-file-name=include) $(MUSL_KERNEL))
MUSL_SOURCES := tools/musl/missing.cpp tools/musl/sigaction.cpp
MUSL_LEAVES := preload/base/other_stack.cpp

# The kernel's headers without glibc's, which lie beside them.
$(MUSL_KERNEL): | musl-deps
	@mkdir -p $@
	$(Q)ln -sfn /usr/include/linux /usr/include/asm-generic /usr/include/$(shell $(CXX) -print-multiarch)/asm $@
# Every source includes the headers that are compiled first, and so this one.
$(BUILD)/obj/libraries.h.gch: MUSL_FLAGS += -include tools/musl/glibc.h
$(BUILD)/obj/libraries.h.gch: tools/musl/glibc.h | $(MUSL_KERNEL)
endif

# Linked with -static, since such a program runs wherever it is started.
.PHONY: check-musl
check-musl:  ## the library for musl compiles, links and serves a program
	$(MAKE) $(JOBS) library LIBC=musl
	musl-gcc -static tests/programs/hello.c -o build/musl/hello \
	  -Wl,--whole-archive build/musl/libpktmalloc.a -Wl,--no-whole-archive
	PKTMALLOC_STATS=1 build/musl/hello 2>&1 | grep -q '^allocated'

.PHONY: test-musl
test-musl:  ## programs of tests/programs built by musl-gcc, with the library preloaded, linked, and linked with -static
	$(MAKE) $(JOBS) library LIBC=musl
	tools/musl/try.sh build/musl
