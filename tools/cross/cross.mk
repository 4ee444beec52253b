# SPDX-License-Identifier: MIT
# For another processor (docs/machines.md): `make library ARCH=aarch64` by Debian's cross compiler; `make older
# wheel image ARCH=aarch64` with the headers and libraries of that processor's Debian, unpacked and not run; `make
# test ARCH=aarch64` on an emulated machine with a Debian of that processor, so that the programs that the
# tests start, and the compilers that some of them ask, are of one kind. KERNEL=arm64-16k is one whose pages
# have 16 KiB. Everything goes into build/ARCH.

KERNEL ?= arm64
# The emulator of single programs makes the Debian; that of machines runs the tests.
CROSS_BUILD_PACKAGES := g++-aarch64-linux-gnu qemu-user mmdebstrap
CROSS_PACKAGES := g++-aarch64-linux-gnu binfmt-support qemu-user-static qemu-system-arm mmdebstrap
# What building and testing needs there.
CROSS_ROOT_PACKAGES := linux-image-arm64 linux-image-arm64-16k g++ make python3 perl sqlite3 procps \
  libfmt-dev libcli11-dev nlohmann-json3-dev libprotozero-dev libncurses-dev libelf-dev libiberty-dev libzstd-dev libevent-dev catch2
# The engine, the programs as preloaded and as linked, the twins, and what speaks to them from outside.
CROSS_SUITES := unit model stress fault fast_path programs checked hardened options statistics heap_errors

$(CROSS_ROOT):
	sh tools/deps/install.sh $(CROSS_PACKAGES)
	tools/cross/root.sh $(ARCH) $@ "$(CROSS_ROOT_PACKAGES)"

# What the command needs of them, and a Python to try the wheel with, by the emulator of single programs.
CROSS_LIBRARY_PACKAGES = libstdc++-12-dev $(filter lib% nlohmann%,$(BUILD_PACKAGES)) python3
$(CROSS_LIBRARIES):
	sh tools/deps/install.sh $(CROSS_BUILD_PACKAGES)
	mkdir -p $(@D)
	mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$(CROSS_LIBRARY_PACKAGES)" bookworm $@.part
	mv $@.part $@
$(if $(ARCH),$(COMMAND_HEADERS).gch $(OLDER)/libc.so.6: | $(CROSS_LIBRARIES))
