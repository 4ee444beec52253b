# SPDX-License-Identifier: MIT
# The soak: real programs under the library for as long as one likes.

MINUTES ?= 10
# The library: empty, or "hardened" or "checked".
KIND ?=

.PHONY: soak
soak: all  ## real programs in turn, the same as without and not growing (MINUTES=10 KIND=hardened)
	/usr/bin/python3 tools/soak/soak.py --minutes $(MINUTES) $(BUILD)/libpktmalloc$(KIND:%=-%).so

.PHONY: soak-deps
soak-deps:  ## install the programs that the soak knows
	@sh tools/deps/install.sh $(SOAK_PACKAGES)
