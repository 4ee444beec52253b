# SPDX-License-Identifier: MIT
# make install PREFIX=/usr/local LIBDIR=/usr/local/lib DESTDIR=; make uninstall with the same values.
# install-library is the part that programs are linked with, and needs no other library to be built.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
INSTALL_LIB := $(DESTDIR)$(LIBDIR)
INSTALL_CMAKE := $(INSTALL_LIB)/cmake/pktmalloc
INSTALL_INCLUDE := $(DESTDIR)$(PREFIX)/include
INSTALL_BIN := $(DESTDIR)$(PREFIX)/bin
INSTALL_MAN := $(DESTDIR)$(PREFIX)/share/man/man1
INSTALL_COMPLETION := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
INSTALL_ZSH := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
INSTALL_FISH := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
# Without debug information, which is 19 parts of 20; names of functions stay, for stacks. STRIP=true
# keeps all.
STRIP ?= strip --strip-debug
# Folders that may have come with install. uninstall removes those that are empty, but for the ones
# that every system has.
INSTALL_FOLDERS := $(INSTALL_LIB)/pkgconfig $(INSTALL_CMAKE) $(INSTALL_CMAKE:/pktmalloc=) $(INSTALL_MAN) $(INSTALL_MAN:/man1=) \
  $(INSTALL_COMPLETION) $(INSTALL_COMPLETION:/completions=) $(INSTALL_ZSH) $(INSTALL_ZSH:/site-functions=) \
  $(INSTALL_FISH) $(INSTALL_FISH:/vendor_completions.d=) \
  $(if $(filter /usr /usr/local,$(DESTDIR)$(PREFIX)),,$(INSTALL_LIB) $(INSTALL_INCLUDE) \
  $(INSTALL_BIN) $(DESTDIR)$(PREFIX)/share)
PUBLIC_HEADERS := $(wildcard preload/contract/pktmalloc*)
PKG_CONFIG_FILES := pktmalloc.pc pktmalloc-static.pc
# What the files for pkg-config call the prefix; relative to their own folder in packages that may lie anywhere.
PKG_CONFIG_PREFIX ?= $(PREFIX)
fill_in = sed -e 's|@PREFIX@|$(PKG_CONFIG_PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)%=$${prefix}%)|' -e 's|@VERSION@|$(VERSION)|'
MAN_PAGES := $(wildcard docs/man/*.1)

.PHONY: install-library
install-library: library  ## install the library, the archive, headers, files for pkg-config and CMake (PREFIX=, DESTDIR=)
	$(if $(SANITIZER),$(error VARIANT=$(VARIANT) has no library to install; use release or debug))
	install -d $(INSTALL_LIB)/pkgconfig $(INSTALL_CMAKE) $(INSTALL_INCLUDE)
	install -m 755 $(BUILD)/libpktmalloc.so $(INSTALL_LIB)/libpktmalloc.so.$(VERSION)
	ln -sf libpktmalloc.so.$(VERSION) $(INSTALL_LIB)/$(SONAME)
	ln -sf $(SONAME) $(INSTALL_LIB)/libpktmalloc.so
	install -m 644 $(BUILD)/libpktmalloc.a $(INSTALL_LIB)/libpktmalloc.a
	install -m 644 $(PUBLIC_HEADERS) $(INSTALL_INCLUDE)
	for name in $(PKG_CONFIG_FILES); do \
	  $(fill_in) tools/install/$$name.in > $(INSTALL_LIB)/pkgconfig/$$name || exit 1; done
	install -m 644 tools/install/pktmallocConfig.cmake $(INSTALL_CMAKE)
	$(fill_in) tools/install/pktmallocConfigVersion.cmake.in > $(INSTALL_CMAKE)/pktmallocConfigVersion.cmake
	$(STRIP) $(INSTALL_LIB)/libpktmalloc.so.$(VERSION) $(INSTALL_LIB)/libpktmalloc.a

.PHONY: install
install: all install-library  ## the same, and the command, its man pages, the hardened and the checked library
	install -d $(INSTALL_BIN) $(INSTALL_MAN) $(INSTALL_COMPLETION) $(INSTALL_ZSH) $(INSTALL_FISH)
	install -m 755 $(TWIN_LIBRARIES) $(INSTALL_LIB)
	install -m 755 $(COMMAND) $(INSTALL_BIN)/pktmalloc
	$(STRIP) $(TWINS:%=$(INSTALL_LIB)/libpktmalloc-%.so) $(INSTALL_BIN)/pktmalloc
	install -m 644 $(MAN_PAGES) $(INSTALL_MAN)
	install -m 644 tools/install/pktmalloc.bash $(INSTALL_COMPLETION)/pktmalloc
	sed 's|@COMPLETION@|$(INSTALL_COMPLETION:$(DESTDIR)%=%)/pktmalloc|' tools/install/_pktmalloc \
	  > $(INSTALL_ZSH)/_pktmalloc
	sed 's|@COMPLETION@|$(INSTALL_COMPLETION:$(DESTDIR)%=%)/pktmalloc|' tools/install/pktmalloc.fish \
	  > $(INSTALL_FISH)/pktmalloc.fish

.PHONY: uninstall
uninstall:  ## remove what install put there
	rm -f $(INSTALL_LIB)/libpktmalloc.so $(INSTALL_LIB)/$(SONAME) \
	  $(INSTALL_LIB)/libpktmalloc.so.$(VERSION) $(INSTALL_LIB)/libpktmalloc.a \
	  $(TWINS:%=$(INSTALL_LIB)/libpktmalloc-%.so) \
	  $(PKG_CONFIG_FILES:%=$(INSTALL_LIB)/pkgconfig/%) $(INSTALL_CMAKE)/pktmallocConfig*.cmake \
	  $(PUBLIC_HEADERS:preload/contract/%=$(INSTALL_INCLUDE)/%) \
	  $(INSTALL_BIN)/pktmalloc $(MAN_PAGES:docs/man/%=$(INSTALL_MAN)/%) \
	  $(INSTALL_COMPLETION)/pktmalloc $(INSTALL_ZSH)/_pktmalloc $(INSTALL_FISH)/pktmalloc.fish
	@for folder in $(INSTALL_FOLDERS); do rmdir $$folder 2> /dev/null || true; done
