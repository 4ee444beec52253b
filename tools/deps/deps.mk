# SPDX-License-Identifier: MIT
# What a Debian 12 machine must have. The targets install what is missing.

# To build. The shared library alone needs g++ and make.
BUILD_PACKAGES := g++ make python3 binutils pkg-config git \
  libcli11-dev libfmt-dev nlohmann-json3-dev libprotozero-dev libncurses-dev libelf-dev libiberty-dev libzstd-dev libevent-dev
DEMO_PACKAGES := g++ make python3 binutils libpython3-stdlib sqlite3 perl

# To build the library for musl, and to try it.
MUSL_PACKAGES := g++ make musl-tools linux-libc-dev busybox-static

# To run the checks and the tests, peers and real programs among them.
TEST_PACKAGES := $(MUSL_PACKAGES) catch2 abigail-tools libboost-dev cmake clang clang-format clang-tidy valgrind strace procps \
  spin tmux groff-base zstd xz-utils \
  libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4 google-perftools chromium \
  php-cli php-curl php-mbstring php-sqlite3 php-xml redis-server redis-tools python3-matplotlib
DEPS_PACKAGES := $(BUILD_PACKAGES) $(DEMO_PACKAGES) $(TEST_PACKAGES)

# For `make fuzz`: the runtime of the fuzzer, which clang has.
FUZZ_PACKAGES := clang libclang-rt-14-dev

# What the soak runs besides; it goes without those that are missing.
SOAK_PACKAGES := libpython3.11-testsuite ruby lua5.4 nodejs ghostscript nginx-light wrk \
  memcached postgresql postgresql-contrib mariadb-server-core mariadb-client

# For the benchmarks besides: libraries that they compare with, real programs.
BENCH_PACKAGES := libbenchmark-dev libboost-dev libconcurrentqueue-dev \
  ruby lua5.4 ghostscript
# For bench-full alone: DPDK brings two hundred packages along.
BENCH_FULL_PACKAGES := libdpdk-dev

# To build Debian packages; mmdebstrap and python3-venv to try packages in fresh systems.
PACKAGE_PACKAGES := $(BUILD_PACKAGES) debhelper dpkg-dev lintian mmdebstrap python3-venv

# To build an image, and to run it.
IMAGE_PACKAGES := podman runc mmdebstrap

.PHONY: deps
deps:  ## install the missing Debian packages (as root or by sudo)
	@sh tools/deps/install.sh $(DEPS_PACKAGES)

.PHONY: demo-deps
demo-deps:  ## of these, what the demo needs
	@sh tools/deps/install.sh $(DEMO_PACKAGES)

.PHONY: package-deps
package-deps:
	@sh tools/deps/install.sh $(PACKAGE_PACKAGES)

.PHONY: musl-deps
musl-deps:
	@sh tools/deps/install.sh $(MUSL_PACKAGES)

.PHONY: image-deps
image-deps:
	@sh tools/deps/install.sh $(IMAGE_PACKAGES)

.PHONY: bench-deps
bench-deps:  ## the same, and what the benchmarks need besides
	@sh tools/deps/install.sh $(DEPS_PACKAGES) $(BENCH_PACKAGES)
