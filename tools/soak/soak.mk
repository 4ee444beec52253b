# SPDX-License-Identifier: MIT
# The soak: real programs under the library for as long as one likes.

MINUTES ?= 10

.PHONY: soak
soak: all  ## real programs in turn, the same as without and not growing (MINUTES=10)
	/usr/bin/python3 tools/soak/soak.py --minutes $(MINUTES) $(BUILD)/libpktmalloc.so

.PHONY: soak-deps
soak-deps:  ## install the programs that the soak knows
	@sh tools/deps/install.sh $(SOAK_PACKAGES)
