# SPDX-License-Identifier: MIT
# The wheel: libraries and command for glibc 2.17 and newer (tools/older), without debug information, and a
# module for Python beside them.

WHEEL := $(BUILD)/wheel
WHEEL_TAG := py3-none-manylinux_2_17_$(PROCESSOR)

.PHONY: wheel
wheel: older  ## the package for pip, in build/wheel
	rm -rf $(WHEEL)
	mkdir -p $(WHEEL)/binaries
	cp $(OLDER_LIBRARIES) $(OLDER)/pktmalloc $(WHEEL)/binaries
	$(CROSS_STRIP) --strip-debug $(WHEEL)/binaries/*.so
	$(CROSS_STRIP) $(WHEEL)/binaries/pktmalloc
	$(PYTHON) tools/package/wheel/wheel.py $(VERSION) $(WHEEL_TAG) $(WHEEL) $(WHEEL)/binaries/*

# More than one Python, each by a path or name: those of pyenv, or what Debian and the user have.
PYTHONS ?= $(or $(wildcard $(HOME)/.pyenv/versions/3.8.*/bin/python3 $(HOME)/.pyenv/versions/3.13.*/bin/python3),python3)

.PHONY: test-wheel
test-wheel: wheel package-deps  ## check its tag by auditwheel, then install, use and remove it (PYTHONS="python3.9 python3.13")
	tools/package/wheel/try.sh $(WHEEL)/*.whl $(if $(ARCH),--emulated $(abspath $(CROSS_LIBRARIES)),$(PYTHONS))
