# SPDX-License-Identifier: MIT
# W4 in other systems, in $(BUILD)/bench/others/: DPDK, Go, Netty. What this machine cannot build is
# named in one line and left out. Works by itself, too:
#   make -f tools/bench/others/others.mk BUILD=/tmp/build bench-others

BUILD ?= build
WERROR ?= -Werror

OTHERS := tools/bench/others
OTHERS_DIRECTORY := $(BUILD)/bench/others

# As the first line of a recipe: ends it, with a word to the user, where a command fails.
others_need = { $(1); } >/dev/null 2>&1 || { echo "$(2): not installed, $(3) is skipped"; exit 0; }

OTHERS_PROGRAMS := $(addprefix $(OTHERS_DIRECTORY)/,w4_mempool burst_mempool w4_sync_pool recycler.jar)

.PHONY: bench-others
bench-others: $(OTHERS_PROGRAMS)  ## build the pools of DPDK, Go and Netty, where they can be built

# DPDK's headers are the system's: their warnings are not ours.
$(addprefix $(OTHERS_DIRECTORY)/,w4_mempool burst_mempool): $(OTHERS_DIRECTORY)/%: $(OTHERS)/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(call others_need,pkg-config --exists libdpdk,libdpdk-dev,DPDK rte_mempool); \
	  $(CC) -std=gnu11 -O2 -g -pthread -Wall -Wextra -Wshadow -Wundef $(WERROR) -MMD -MP \
	  $$(pkg-config --cflags libdpdk | sed 's/-I/-isystem /g') $< -o $@ \
	  $$(pkg-config --libs libdpdk)

$(OTHERS_DIRECTORY)/w4_sync_pool: $(wildcard $(OTHERS)/go/*)
	@mkdir -p $(@D)
	$(call say,GO)
	$(Q)$(call others_need,command -v go,go,Go sync.Pool); \
	  cd $(OTHERS)/go && go build -trimpath -buildvcs=false -o $(abspath $@) . || \
	  echo "go failed: Go sync.Pool is skipped"

$(OTHERS_DIRECTORY)/recycler.jar: $(OTHERS)/netty/pom.xml \
    $(wildcard $(OTHERS)/netty/src/main/java/pktmalloc/*.java)
	@mkdir -p $(@D)
	$(call say,MVN)
	$(Q)$(call others_need,command -v mvn && command -v javac,mvn or javac,Netty Recycler); \
	  mvn -q -B -Dstyle.color=never -f $< package -DbuildDirectory=$(abspath $(@D))/netty && \
	  cp $(@D)/netty/recycler.jar $@ || echo "mvn failed: Netty Recycler is skipped"

-include $(wildcard $(OTHERS_DIRECTORY)/*.d)
