# make check: everything that proves Holdfast, on a machine that had nothing installed for it.
.PHONY: check
check:
	@scripts/deps test
	@tests/check

# make quick: what to run all day. Lint, the plain unit tests with the golden cases and the driver's contract, 300 random worlds.
.PHONY: quick
quick:
	@scripts/deps test
	@tests/check quick

.PHONY: e2e
e2e: bench-build
	@tests/run-e2e

# make campaign KILLS=500 SEED=1: kill -9 of hpd and of agents under noise, and what came of it in numbers. make check runs 24 of them.
KILLS ?= 500
.PHONY: campaign
campaign: all
	@cd tests/e2e && KILLS=$(KILLS) SEED=$(SEED) node --test --test-reporter=spec campaign/kills.test.mjs
