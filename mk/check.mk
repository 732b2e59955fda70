# make check: everything that proves Holdfast, on a machine that had nothing installed for it.
.PHONY: check
check:
	@scripts/deps test
	@tests/check

.PHONY: e2e
e2e: bench-build
	@tests/run-e2e
