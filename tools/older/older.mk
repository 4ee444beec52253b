# SPDX-License-Identifier: MIT
# The library for systems with glibc 2.17 and newer (RHEL 7, Debian 10, Ubuntu 18.04), in build/older. The
# same objects, linked with a stand-in for libc that has each function in its oldest version. Where libc
# is older than 2.34, it has functions of threads and of the loader in libraries of their own.

OLDER := $(BUILD)/older
OLDER_LIBRARIES := $(OLDER)/libpktmalloc.so $(TWINS:%=$(OLDER)/libpktmalloc-%.so)

$(OLDER)/libc.so.6: tools/older/stand_in.py tools/older/versions.txt $(BUILD)/libpktmalloc.so $(TWIN_LIBRARIES)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(PYTHON) $< tools/older/versions.txt $(@D) $(filter %.so,$^)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -Wl,--version-script=$(@D)/libc.map $(@D)/libc.s -o $@

$(OLDER)/libdl.so.2 $(OLDER)/libpthread.so.0:
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -x c /dev/null -o $@

OLDER_LINK = $(LIBRARY_LINK) -nodefaultlibs -Wl,--no-as-needed $(OLDER)/libc.so.6 $(OLDER)/libdl.so.2 \
  $(OLDER)/libpthread.so.0 -l:libc_nonshared.a

$(OLDER_LIBRARIES): $(OLDER)/libc.so.6 $(OLDER)/libdl.so.2 $(OLDER)/libpthread.so.0 preload/contract/exports.map
$(OLDER)/libpktmalloc.so: $(ENGINE_OBJECTS) $(PRELOAD_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(filter %.o,$^) $(OLDER_LINK) -o $@

define OLDER_TWIN
$(OLDER)/libpktmalloc-$(1).so: $(ENGINE_OBJECTS) $(call twin_objects,$(1))
	$$(call say,LINK)
	$$(Q)$$(CC) $$(filter %.o,$$^) $$(OLDER_LINK) -o $$@
endef
$(foreach twin,$(TWINS),$(eval $(call OLDER_TWIN,$(twin))))

# Its golden file says what they need.
$(if $(filter release,$(VARIANT)$(ARCH)),$(eval $(TESTS)/golden: | $(OLDER_LIBRARIES)))

.PHONY: older
older: $(OLDER_LIBRARIES)  ## the libraries for older systems, from glibc 2.17 on, in build/older

.PHONY: test-older
test-older: older package-deps  ## run programs under them in Debian 11; minutes
	tools/older/try.sh $(OLDER) bullseye
