# SPDX-License-Identifier: MIT
# Packages: for Debian, built from a copy of the source, because Debian wants its folder on top; an
# archive for other systems; a recipe for Conan; what a release consists of.

# When this version came out.
RELEASED = $(shell sed -n 's/^.. $(VERSION) - //p' docs/CHANGELOG.md)

DEB := $(BUILD)/deb
DEB_SOURCE := $(DEB)/pktmalloc-$(VERSION)

.PHONY: deb
deb: package-deps  ## Debian packages, in build/deb
	rm -rf $(DEB)
	mkdir -p $(DEB_SOURCE)
	tar --create --exclude=./build --exclude=./.git . | tar --extract --directory=$(DEB_SOURCE)
	cp -r tools/package/debian $(DEB_SOURCE)
	sed -i "s/@VERSION@/$(VERSION)/; s/@DATE@/$$(date -uR --date=$(RELEASED))/" $(DEB_SOURCE)/debian/changelog
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage --no-sign --build=binary
	rm -r $(DEB_SOURCE)
	lintian --fail-on error,warning $(DEB)/*.changes

.PHONY: test-packages
test-packages: deb  ## build them again, alike; install, use and remove them in fresh systems; minutes
	tools/package/reproduce.sh $(DEB)
	tools/package/try.sh $(DEB) bookworm
	tools/package/try.sh $(DEB) trixie

PROCESSOR := $(or $(ARCH),$(shell uname -m))
TARBALL := $(BUILD)/pktmalloc-$(VERSION)-linux-$(PROCESSOR).tar.xz
TARBALL_TREE := $(BUILD)/tarball

.PHONY: tarball
tarball:  ## what install puts in place, as build/pktmalloc-VERSION-linux-PROCESSOR.tar.xz
	rm -rf $(TARBALL_TREE)
	$(MAKE) --no-print-directory install DESTDIR=$(TARBALL_TREE) PREFIX=/usr/local LIBDIR=/usr/local/lib \
	  PKG_CONFIG_PREFIX='$$$${pcfiledir}/../..'
	tar --create --xz --file $(TARBALL) --sort=name --owner=0 --group=0 --numeric-owner \
	  --mtime=@$(or $(SOURCE_DATE_EPOCH),0) --transform='s,^[.],$(notdir $(TARBALL:.tar.xz=)),' \
	  --directory=$(TARBALL_TREE)/usr/local .
	rm -r $(TARBALL_TREE)

# Of what is committed. Nothing is signed: that is for whoever publishes it.
DIST := $(BUILD)/dist

.PHONY: dist
dist: tarball  ## a release in build/dist: the source, what install puts in place, SHA256SUMS
	rm -rf $(DIST)
	mkdir -p $(DIST)
	git archive --prefix=pktmalloc-$(VERSION)/ --output=$(DIST)/pktmalloc-$(VERSION).tar.gz HEAD
	cp $(TARBALL) $(DIST)
	cd $(DIST) && sha256sum pktmalloc-* > SHA256SUMS

# Conan comes from PyPI: pip install conan.
.PHONY: test-conan
test-conan:  ## make the library by tools/package/conan, and a program that asks Conan for it
	CONAN_HOME=$(abspath $(BUILD))/conan sh -c \
	  'conan profile detect --exist-ok && conan create tools/package/conan'
