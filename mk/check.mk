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

# make campaign KILLS=500 BURSTS=1000 PROVIDER_KILLS=1000 FAULTS=20 SEED=1: what takes too long for make check, in numbers. First, requests that no good client
# sends, and all that the APIs take, to an hpd under ASan and UBSan. Then kill -9 of hpd and of agents under noise; bursts of critical verdicts with
# late threads and a late disk; kill -9 of hpd while instances are rebooted and replaced, counted at the provider; faults in a row in one job under
# srun --auto-resume, with and without slurmdbd. make check has 24 of these kills, 4 of these bursts, 8 kills at the provider and 3 faults.
# A report of a sanitizer is a failure.
KILLS ?= 500
PROVIDER_KILLS ?= 1000
BURSTS ?= 1000
FAULTS ?= 20
HOSTILE ?= badday/hostile badday/descriptors badday/store api/contract api/access api/audit api/docs aws/ webhook policy.test start.test states.test
.PHONY: campaign
campaign: bench-build
	@$(sanitized_make) all
	@E2E_BUILD=$(SANITIZED_BUILD) E2E="$(HOSTILE)" E2E_JOBS=2 E2E_SUITE=hostile tests/run-e2e
	@cd tests/e2e && KILLS=$(KILLS) SEED=$(SEED) node --test --test-reporter=spec campaign/kills.test.mjs
	@cd tests/e2e && BURSTS=$(BURSTS) SEED=$(SEED) node --test --test-reporter=spec campaign/bursts.test.mjs
	@cd tests/e2e && PROVIDER_KILLS=$(PROVIDER_KILLS) SEED=$(SEED) node --test --test-reporter=spec campaign/providers.test.mjs
	@cd tests/e2e && FAULTS=$(FAULTS) node --test --test-reporter=spec campaign/faults.test.mjs
