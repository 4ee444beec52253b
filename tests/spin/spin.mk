# SPDX-License-Identifier: MIT
# The depot's LIFO and mail, and the background's wake, under a model checker.

.PHONY: check-model
check-model: deps  ## every order of small cases of the depot's LIFO, its mail and wakes (DEEP=1: larger ones, 2 minutes)
	$(PYTHON) tests/spin/check.py $(if $(DEEP),--deep) build/spin
