# SPDX-License-Identifier: MIT
# The crate: the library's sources inside, which its build.rs compiles. Packed in build/crate.

CRATE := $(BUILD)/crate/pktmalloc
# No flags of ours: the crate is built as anyone builds it.
CARGO := env -u MAKEFLAGS -u MAKELEVEL -u CC -u CXX -u CFLAGS -u CXXFLAGS CARGO_TARGET_DIR=$(abspath $(BUILD))/crate/target cargo

.PHONY: crate-sources
crate-sources:
	rm -rf $(CRATE)
	mkdir -p $(CRATE)/library
	cd tools/package/crate && cp -r build.rs Cargo.toml README.md src tests $(abspath $(CRATE))
	cp docs/LICENSE $(CRATE)
	tar --create --exclude=checked --exclude=hardened sizeclass preload | tar --extract --directory=$(CRATE)/library
	sed -i 's/^version = "0.0.0"/version = "$(VERSION)"/' $(CRATE)/Cargo.toml

.PHONY: crate
crate: crate-sources  ## the package for cargo, in build/crate, built from what it holds
	cd $(CRATE) && $(CARGO) publish --dry-run
	cd $(CRATE) && $(CARGO) package --no-verify
	cp $(BUILD)/crate/target/package/pktmalloc-$(VERSION).crate $(BUILD)/crate

.PHONY: test-crate
test-crate: crate  ## its tests, those in its documentation, and what it says on another target
	cd $(CRATE) && $(CARGO) test --release
	! $(CARGO) check --manifest-path $(CRATE)/Cargo.toml --target x86_64-unknown-linux-musl 2> $(BUILD)/crate/told
	grep 'pktmalloc is for Linux with glibc' $(BUILD)/crate/told

.PHONY: bench-crate
bench-crate: crate-sources  ## the crate beside those of mimalloc, jemalloc, snmalloc and rpmalloc, by cargo; prints a table
	env -u MAKEFLAGS -u MAKELEVEL $(PYTHON) tools/package/crate/benchmark.py $(BUILD)/crate/benchmark
