# make demo: the whole arc on this machine. ONCE=1 does it unattended and proves it; KEEP=1 keeps its directory.
.PHONY: demo
demo:
	@scripts/deps demo
	@$(MAKE) --no-print-directory -j2 all
	@demo/demo $(if $(ONCE),--once)
