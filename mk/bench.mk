# make bench: every figure of docs/performance.md. ONLY="heartbeats verdicts decisions decide reads signatures connections kmsg faults agent slurm hpctl joblog launcher" runs some.
BENCH := $(BUILD)/bench/load $(BUILD)/bench/seed $(BUILD)/bench/bare $(BUILD)/bench/sigv4 $(BUILD)/bench/kmsg $(BUILD)/bench/decide $(BUILD)/bench/joblog

$(BUILD)/bench/load: $(BUILD)/bench/load.o $(BUILD)/bench/message.o $(BUILD)/tests/support/sign.o $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_base))
$(BUILD)/bench/seed: $(BUILD)/bench/seed.o $(BUILD)/libdb.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,-lsqlite3 $(LIBS_base))
$(BUILD)/bench/bare: $(BUILD)/bench/bare.o $(BUILD)/libbase.a
	$(call link,$^,-lmicrohttpd $(LIBS_base))
$(BUILD)/bench/sigv4: $(BUILD)/bench/sigv4.o $(BUILD)/libapi.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_base))
$(BUILD)/bench/kmsg: $(BUILD)/bench/kmsg.o $(BUILD)/bench/kmsg_corpus.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_base))
$(BUILD)/bench/joblog: $(BUILD)/bench/joblog.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_base))
$(BUILD)/bench/decide: $(BUILD)/bench/decide.o $(BUILD)/bench/decide_pure.o $(BUILD)/libsimulate.a $(BUILD)/libserver.a $(BUILD)/libdb.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,-lsqlite3 $(LIBS_http) $(LIBS_base))

.PHONY: bench bench-build
bench-build: all $(BENCH)
bench:
	@scripts/deps bench
	@$(MAKE) --no-print-directory -j2 bench-build
	@BUILD=$(BUILD) ONLY="$(ONLY)" node bench/run.mjs
