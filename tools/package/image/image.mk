# SPDX-License-Identifier: MIT
# The image: libraries for glibc 2.17 and newer, and the command linked with all that it needs, libc too.

IMAGE := $(BUILD)/image
IMAGE_LOCAL := $(IMAGE)/root/usr/local
IMAGE_NAME := localhost/pktmalloc$(ARCH:%=-%):$(VERSION)

$(IMAGE)/pktmalloc: $(OLDER_COMMAND)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) -static $(filter-out %/newer_functions.o,$(OLDER_COMMAND)) $(OLDER_COMMAND_ARCHIVES) -o $@

$(IMAGE)/copy-pktmalloc: tools/package/image/copy_libraries.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -static -O2 -Wall -Wextra $(WERROR) $< -o $@

.PHONY: image-files
image-files: $(OLDER_LIBRARIES) $(IMAGE)/pktmalloc $(IMAGE)/copy-pktmalloc
	rm -rf $(IMAGE)/root
	mkdir -p $(IMAGE_LOCAL)/bin $(IMAGE_LOCAL)/lib
	install -m 755 $(OLDER_LIBRARIES) $(IMAGE_LOCAL)/lib
	install -m 755 $(filter-out %.so,$^) $(IMAGE_LOCAL)/bin
	$(CROSS_STRIP) --strip-debug $(IMAGE_LOCAL)/lib/*
	$(CROSS_STRIP) $(IMAGE_LOCAL)/bin/*
	cp tools/package/image/Containerfile $(IMAGE)

.PHONY: image
image: image-files image-deps  ## a container image with libraries and static command, by buildah or podman: localhost/pktmalloc
	tools/package/image/build.sh $(IMAGE) $(IMAGE_NAME) $(PROCESSOR)

.PHONY: test-image
test-image: image  ## copy from it, run under it in a small Debian, read statistics from a sidecar; minutes
	tools/package/image/try.sh $(IMAGE_NAME) $(ARCH)
