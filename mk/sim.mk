# make sim [SEEDS=2000] [SEED=1]: so many random worlds of the whole control plane, from this seed on, under the sanitizers.
# A seed that fails is printed with its timeline; SEEDS=1 SEED=... lives it again.
SEEDS ?= 2000
SEED ?= 1
SIM_BUILD ?= build-asan
.PHONY: sim
sim:
	@$(MAKE) --no-print-directory BUILD=$(SIM_BUILD) SANITIZE=address,undefined OPT="-O1 -g" T=tests/sim/test_random.c unit-build
	@if $(SIM_BUILD)/tests/sim/test_random $(SEED) $(SEEDS); then echo "sim: $(SEEDS) passed, 0 failed"; \
	else echo "lived again with: make sim SEEDS=1 SEED=(the seed above)"; echo "sim: 0 passed, 1 failed"; exit 1; fi
