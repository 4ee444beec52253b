# SPDX-License-Identifier: MIT
# The command: build/pktmalloc, all of tools/command. It includes the shapes of the statistics and
# links nothing of the engine but the class table, which `tune` asks.

COMMAND := $(BUILD)/pktmalloc
COMMAND_SOURCES := $(wildcard tools/command/*.cpp tools/command/*/*.cpp)
COMMAND_OBJECTS := $(COMMAND_SOURCES:%.cpp=$(BUILD)/obj/%.o)
# The folder below lib where this Debian keeps libraries, such as x86_64-linux-gnu.
MULTIARCH := $(shell $(CXX) -print-multiarch)
COMMAND_FLAGS = -std=c++20 -O1 -g1 -I. $(WARNINGS) -MMD -MP -DPKTMALLOC_CHECKED=0 -DPKTMALLOC_HARDENED=0 \
  -DPKTMALLOC_DEBUG=0 -DPKTMALLOC_MULTIARCH='"$(MULTIARCH)"'
# FMT_LIBRARY= where its headers hold all of it.
FMT_LIBRARY := -lfmt
COMMAND_LIBRARIES := $(FMT_LIBRARY) -lncursesw -ltinfo -lelf -liberty -lzstd -levent_extra -levent_core

# Read by -include instead of the header, which is not there.
COMMAND_HEADERS := $(BUILD)/obj/tools/command/libraries.h

$(COMMAND_HEADERS).gch: tools/command/libraries.h tools/command/command.mk
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(COMMAND_FLAGS) -x c++-header $< -o $@

$(COMMAND_OBJECTS): $(BUILD)/obj/%.o: %.cpp $(COMMAND_HEADERS).gch
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(COMMAND_FLAGS) -include $(COMMAND_HEADERS) -c $< -o $@

# The formats of the statistics are the library's.
COMMAND_FORMATS := $(patsubst %,$(BUILD)/obj/preload/%.o, \
  formats/format formats/format_profile formats/format_sizes formats/writer)

$(COMMAND): $(COMMAND_OBJECTS) $(COMMAND_FORMATS) $(ENGINE)
	$(call say,LINK)
	$(Q)$(CXX) $^ $(COMMAND_LIBRARIES) -o $@

-include $(COMMAND_OBJECTS:.o=.d)
