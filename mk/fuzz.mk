# make fuzz [FUZZ_SECONDS=60] [FUZZ="pull json"]: each target so long, under the sanitizers: the long hunt. make fuzz-check: the seeds and
# 2,000 inputs made of them, the same ones each time, for a check that finds something new by chance says nothing of the change it checks.
#
# A target is tests/fuzz/fuzz_<x>.c with seeds in tests/fuzz/corpus/<x>/; its line "// ROOMS: base model" says what it
# links, the pure rooms when there is none; server brings policy and db. It may stand in for functions of these rooms: what it defines itself is taken
# instead. Needs clang and libclang-rt-dev.
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
FUZZ_PROGRAMS = $(FUZZ:%=$(SANITIZED_BUILD)/tests/fuzz/fuzz_%)

.PHONY: fuzz fuzz-check fuzz-build
fuzz:
	@$(sanitized_make) FUZZ="$(FUZZ)" fuzz-build
	@FUZZ_SEED=$(FUZZ_SEED) tests/fuzz/run $(SANITIZED_BUILD) $(FUZZ_SECONDS) $(FUZZ_PROGRAMS)
fuzz-check:
	@$(sanitized_make) FUZZ="$(FUZZ)" fuzz-build
	@tests/fuzz/run --replay $(SANITIZED_BUILD) $(FUZZ_PROGRAMS)

# From here on: inside of sanitized_make, where BUILD and the flags are those of fuzzing.
fuzz_named = $(or $(shell sed -n 's|^// ROOMS: *||p' tests/fuzz/fuzz_$(1).c),base model policy)
fuzz_rooms = $(sort $(call fuzz_named,$(1)) $(if $(filter server,$(call fuzz_named,$(1))),policy db)) # the server needs both
fuzz-build: $(FUZZ:%=$(BUILD)/tests/fuzz/fuzz_%)

define fuzz_rule
$(BUILD)/tests/fuzz/fuzz_$(1): $(BUILD)/tests/fuzz/fuzz_$(1).o $(BUILD)/tests/fuzz/same.o $(foreach room,$(call fuzz_rooms,$(1)),$(BUILD)/lib$(room).a)
	$$(call link,-fsanitize=fuzzer -Wl$$(comma)--allow-multiple-definition -Wl$$(comma)--start-group $$^ -Wl$$(comma)--end-group,$$(LIBS_base) $$(LIBS_http) -lsqlite3 -lmicrohttpd -lpthread)
endef
$(foreach target,$(FUZZ),$(eval $(call fuzz_rule,$(target))))
