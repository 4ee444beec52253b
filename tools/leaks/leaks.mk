# SPDX-License-Identifier: MIT
.PHONY: leak-checks
leak-checks: all  ## what is lost in real programs: run --leak-check beside LeakSanitizer and valgrind
	$(PYTHON) tools/leaks/compare.py $(BUILD)
