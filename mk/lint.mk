# make lint: the laws of the house, after a proof that each rule can fail.
.PHONY: lint-selftest
lint-selftest:
	@tests/lint/selftest
lint: lint-selftest
