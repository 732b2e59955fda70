# make sim [SEEDS=2000] [SEED=1]: so many random worlds of the whole control plane, from this seed on, under the sanitizers.
# A seed that fails is printed with its timeline; SEEDS=1 SEED=... lives it again.
SEEDS ?= 2000
SEED ?= 1
.PHONY: sim
sim:
	@$(sanitized_make) T=tests/sim/test_random.c unit-build
	@tests/run-sim $(SANITIZED_BUILD) $(SEED) $(SEEDS)
