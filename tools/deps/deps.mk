# SPDX-License-Identifier: MIT
# What a Debian 12 machine must have. `make deps` installs what is missing.

# To build, to run the tests (peers and real programs among them), and to run the demo.
DEPS_PACKAGES := g++ make python3 binutils pkg-config git \
  catch2 clang-format clang-tidy valgrind procps \
  libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4 \
  sqlite3 perl redis-server redis-tools libpython3-stdlib

.PHONY: deps
deps:  ## install the missing Debian packages (as root or by sudo)
	@sh tools/deps/install.sh $(DEPS_PACKAGES)
