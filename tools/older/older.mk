# SPDX-License-Identifier: MIT
# Libraries and command for systems with glibc 2.17 and newer (RHEL 7, Debian 10, Ubuntu 18.04), in build/older.
# The same objects, linked with a stand-in for libc that has each function in its oldest version. Where libc
# is older than 2.34, it has functions of threads and of the loader in libraries of their own.

OLDER := $(BUILD)/older
OLDER_LIBRARIES := $(OLDER)/libpktmalloc.so $(TWINS:%=$(OLDER)/libpktmalloc-%.so)

$(OLDER)/libc.so.6: tools/older/stand_in.py tools/older/versions.txt $(BUILD)/libpktmalloc.so $(TWIN_LIBRARIES)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(PYTHON) $< tools/older/versions.txt $(@D) $(filter %.so,$^)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -Wl,--version-script=$(@D)/libc.map $(@D)/libc.s -o $@

$(OLDER)/libdl.so.2 $(OLDER)/libm.so.6 $(OLDER)/libpthread.so.0:
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -x c /dev/null -o $@

OLDER_LINK = $(LIBRARY_LINK) -nodefaultlibs -Wl,--no-as-needed $(OLDER)/libc.so.6 $(OLDER)/libdl.so.2 \
  $(OLDER)/libpthread.so.0 -l:libc_nonshared.a -lgcc -lgcc_eh

$(OLDER_LIBRARIES): $(OLDER)/libc.so.6 $(OLDER)/libdl.so.2 $(OLDER)/libpthread.so.0 $(EXPORTS) $(SEGMENTS)
$(OLDER)/libpktmalloc.so: $(ENGINE_OBJECTS) $(PRELOAD_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(filter %.o,$^) $(OLDER_LINK) -o $@

define OLDER_TWIN
$(OLDER)/libpktmalloc-$(1).so: $(ENGINE_OBJECTS) $(call twin_objects,$(1))
	$$(call say,LINK)
	$$(Q)$$(CC) $$(filter %.o,$$^) $$(OLDER_LINK) -o $$@
endef
$(foreach twin,$(TWINS),$(eval $(call OLDER_TWIN,$(twin))))

# The command: all libraries but libc are inside it, and what glibc 2.17 lacks. It is linked twice, first with
# this system's libc, to see what it takes from there.
OLDER_COMMAND := $(COMMAND_OBJECTS) $(COMMAND_FORMATS) $(ENGINE) $(OLDER)/obj/formatting.o $(OLDER)/obj/newer_functions.o
OLDER_COMMAND_ARCHIVES := -lncursesw -ltinfo -lelf -lz -liberty -lzstd -levent_extra -levent_core
OLDER_COMMAND_LINK = -nodefaultlibs -Wl,--wrap=__libc_start_main $(OLDER_COMMAND) -Wl,-Bstatic $(OLDER_COMMAND_ARCHIVES) \
  -lstdc++ -lgcc -lgcc_eh -Wl,-Bdynamic

$(OLDER)/obj/%.o: tools/older/%.cpp
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++20 -O1 -g1 $(WARNINGS) -c $< -o $@
$(OLDER)/obj/%.o: tools/older/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -O1 -g1 -Wall -Wextra $(WERROR) -c $< -o $@

$(OLDER)/command/pktmalloc: $(OLDER_COMMAND)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(OLDER_COMMAND_LINK) -lm -lc -o $@

$(OLDER)/command/libc.so.6: $(OLDER)/command/pktmalloc tools/older/stand_in.py tools/older/versions.txt
	$(call say,GEN)
	$(Q)$(PYTHON) tools/older/stand_in.py tools/older/versions.txt $(@D) $<
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -Wl,--version-script=$(@D)/libc.map $(@D)/libc.s -o $@

$(OLDER)/pktmalloc: $(OLDER)/command/libc.so.6 $(OLDER)/libm.so.6 $(OLDER)/libpthread.so.0 $(OLDER_COMMAND)
	$(call say,LINK)
	$(Q)$(CXX) $(OLDER_COMMAND_LINK) -Wl,--no-as-needed $(filter %.so.6 %.so.0,$^) -l:libc_nonshared.a -o $@

# Its golden file says what they need.
$(if $(filter release,$(VARIANT)$(ARCH)),$(eval $(TESTS)/golden: | $(OLDER_LIBRARIES) $(OLDER)/pktmalloc))

.PHONY: older
older: $(OLDER_LIBRARIES) $(OLDER)/pktmalloc  ## libraries and command for older systems, from glibc 2.17 on, in build/older

.PHONY: test-older
test-older: older package-deps  ## run programs under them in Debian 11; minutes
	tools/older/try.sh $(OLDER) bullseye
