# SPDX-License-Identifier: MIT
# Debian packages. They are built from a copy of the source, because Debian wants its folder on top.

DEB := $(BUILD)/deb
DEB_SOURCE := $(DEB)/pktmalloc-$(VERSION)

.PHONY: deb
deb: package-deps  ## Debian packages, in build/deb
	rm -rf $(DEB)
	mkdir -p $(DEB_SOURCE)
	tar --create --exclude=./build --exclude=./.git . | tar --extract --directory=$(DEB_SOURCE)
	cp -r tools/package/debian $(DEB_SOURCE)
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage --no-sign --build=binary
	rm -r $(DEB_SOURCE)
	lintian --fail-on error,warning $(DEB)/*.changes

.PHONY: test-packages
test-packages: deb  ## build them again, alike; install, use and remove them in fresh systems; minutes
	tools/package/reproduce.sh $(DEB)
	tools/package/try.sh $(DEB) bookworm
	tools/package/try.sh $(DEB) trixie
