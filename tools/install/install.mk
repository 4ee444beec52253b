# SPDX-License-Identifier: MIT
# make install PREFIX=/usr/local DESTDIR=; make uninstall with the same values.

PREFIX ?= /usr/local
DESTDIR ?=
INSTALL_LIB := $(DESTDIR)$(PREFIX)/lib
INSTALL_INCLUDE := $(DESTDIR)$(PREFIX)/include

.PHONY: install
install: all  ## install libraries, header and pkg-config file (PREFIX=, DESTDIR=)
	$(if $(SANITIZER),$(error VARIANT=$(VARIANT) has no library to install; use release or debug))
	install -d $(INSTALL_LIB)/pkgconfig $(INSTALL_INCLUDE)
	install -m 755 $(BUILD)/libpktmalloc.so $(INSTALL_LIB)/libpktmalloc.so.$(VERSION)
	ln -sf libpktmalloc.so.$(VERSION) $(INSTALL_LIB)/$(SONAME)
	ln -sf $(SONAME) $(INSTALL_LIB)/libpktmalloc.so
	install -m 755 $(BUILD)/libpktmalloc-checked.so $(INSTALL_LIB)/libpktmalloc-checked.so
	install -m 644 $(BUILD)/libpktmalloc.a $(INSTALL_LIB)/libpktmalloc.a
	install -m 644 preload/pktmalloc.h $(INSTALL_INCLUDE)/pktmalloc.h
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' tools/install/pktmalloc.pc.in \
	  > $(INSTALL_LIB)/pkgconfig/pktmalloc.pc

.PHONY: uninstall
uninstall:  ## remove what install put there
	rm -f $(INSTALL_LIB)/libpktmalloc.so $(INSTALL_LIB)/$(SONAME) \
	  $(INSTALL_LIB)/libpktmalloc.so.$(VERSION) $(INSTALL_LIB)/libpktmalloc.a \
	  $(INSTALL_LIB)/libpktmalloc-checked.so \
	  $(INSTALL_LIB)/pkgconfig/pktmalloc.pc $(INSTALL_INCLUDE)/pktmalloc.h
