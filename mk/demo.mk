# make demo: the whole arc on this machine, on Slurm. WITH=kubernetes is the same on Kubernetes. ONCE=1 does it unattended and proves it; KEEP=1
# keeps its directory.
.PHONY: demo
demo:
	@scripts/deps $(if $(filter kubernetes,$(WITH)),test,demo)
	@$(MAKE) --no-print-directory -j2 all
	@$(if $(filter kubernetes,$(WITH)),scripts/kubernetes-binaries >/dev/null)
	@demo/$(if $(filter kubernetes,$(WITH)),kubernetes,demo) $(if $(ONCE),--once)
