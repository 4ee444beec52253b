# SPDX-License-Identifier: MIT
# W4 in other systems, in $(BUILD)/bench/others/: DPDK, Go, Netty. What this machine cannot build is
# named in one line and left out. Works by itself, too:
#   make -f tools/bench/others/others.mk BUILD=/tmp/build bench-others

BUILD ?= build
WERROR ?= -Werror

OTHERS := tools/bench/others
OTHERS_DIRECTORY := $(BUILD)/bench/others

# What is missing of a contender's toolchain, nothing when it is complete.
others_missing = $(strip $(foreach tool,$(1),\
  $(if $(shell command -v $(tool) 2>/dev/null),,$(tool))))
others_comma := ,
others_skip = $(if $(1),@echo "$(1): not installed$(others_comma) $(2) is skipped")
OTHERS_NO_DPDK := $(shell pkg-config --exists libdpdk 2>/dev/null || echo libdpdk-dev)
OTHERS_NO_GO := $(call others_missing,go)
OTHERS_NO_JAVA := $(call others_missing,mvn java javac)

OTHERS_PROGRAMS := \
  $(if $(OTHERS_NO_DPDK),,$(OTHERS_DIRECTORY)/w4_mempool) \
  $(if $(OTHERS_NO_GO),,$(OTHERS_DIRECTORY)/w4_sync_pool) \
  $(if $(OTHERS_NO_JAVA),,$(OTHERS_DIRECTORY)/recycler.jar)

.PHONY: bench-others
bench-others: $(OTHERS_PROGRAMS)  ## build the pools of DPDK, Go and Netty, where they can be built
	$(call others_skip,$(OTHERS_NO_DPDK),DPDK rte_mempool)
	$(call others_skip,$(OTHERS_NO_GO),Go sync.Pool)
	$(call others_skip,$(OTHERS_NO_JAVA),Netty Recycler)

# DPDK's headers are the system's: their warnings are not ours.
$(OTHERS_DIRECTORY)/w4_mempool: $(OTHERS)/w4_mempool.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -g -pthread -Wall -Wextra -Wshadow -Wundef $(WERROR) -MMD -MP \
	  $$(pkg-config --cflags libdpdk | sed 's/-I/-isystem /g') $< -o $@ \
	  $$(pkg-config --libs libdpdk)

$(OTHERS_DIRECTORY)/w4_sync_pool: $(wildcard $(OTHERS)/go/*)
	@mkdir -p $(@D)
	$(call say,GO)
	$(Q)cd $(OTHERS)/go && go build -trimpath -buildvcs=false -o $(abspath $@) . || \
	  echo "go failed: Go sync.Pool is skipped"

$(OTHERS_DIRECTORY)/recycler.jar: $(OTHERS)/netty/pom.xml \
    $(wildcard $(OTHERS)/netty/src/main/java/pktmalloc/*.java)
	@mkdir -p $(@D)
	$(call say,MVN)
	$(Q)mvn -q -B -Dstyle.color=never -f $< package -DbuildDirectory=$(abspath $(@D))/netty && \
	  cp $(@D)/netty/recycler.jar $@ || echo "mvn failed: Netty Recycler is skipped"

-include $(wildcard $(OTHERS_DIRECTORY)/*.d)
