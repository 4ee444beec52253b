# SPDX-License-Identifier: MIT
# The newest releases of other allocators, in $(BUILD)/peers/. Needs cargo, gcc, g++ and the network;
# what is missing or does not build is named and skipped. Works by itself, too:
#   make -f tools/bench/peers/peers.mk BUILD=/tmp/build peers

BUILD ?= build
PYTHON ?= python3

PEERS := mimalloc2 mimalloc3 jemalloc-new snmalloc rpmalloc
# Those that look for heap errors, as their authors build them for that.
PEERS += mimalloc2-secure mimalloc3-secure snmalloc-checks
PEERS_TOOLS := tools/bench/peers
PEERS_DIRECTORY := $(BUILD)/peers
PEERS_SOURCES := $(PEERS_DIRECTORY)/sources
PEERS_LIBRARIES := $(PEERS:%=$(PEERS_DIRECTORY)/lib%.so)

.PHONY: peers
peers: $(PEERS_DIRECTORY)/versions.json  ## build the newest releases of other allocators

$(PEERS_DIRECTORY)/versions.json: $(PEERS_LIBRARIES) $(PEERS_TOOLS)/versions.py
	$(Q)$(PYTHON) $(PEERS_TOOLS)/versions.py $(@D)

# jemalloc takes a minute, the others seconds.
$(PEERS_LIBRARIES): $(PEERS_DIRECTORY)/lib%.so: $(PEERS_SOURCES) $(PEERS_TOOLS)/build.sh
	$(call say,PEER)
	$(Q)sh $(PEERS_TOOLS)/build.sh $* $(@D)

$(PEERS_SOURCES): $(PEERS_TOOLS)/Cargo.toml $(PEERS_TOOLS)/Cargo.lock
	@mkdir -p $(@D)
	$(call say,GET)
	$(Q)sh $(PEERS_TOOLS)/build.sh sources $(@D)
