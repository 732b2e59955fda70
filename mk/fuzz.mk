# make fuzz [FUZZ_SECONDS=60] [FUZZ="pull json"]: each target so long, under the sanitizers. make fuzz-check: 20,000 inputs
# each, the same ones each time, for a check that finds something new by chance says nothing of the change it checks.
#
# A target is tests/fuzz/fuzz_<x>.c with seeds in tests/fuzz/corpus/<x>/; its line "// ROOMS: base model" says what it
# links, the pure rooms when there is none. It may stand in for functions of these rooms: what it defines itself is taken
# instead. Needs clang and libclang-rt-dev.
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
FUZZ_BUILD ?= build-fuzz
FUZZ_PROGRAMS = $(FUZZ:%=$(FUZZ_BUILD)/tests/fuzz/fuzz_%)
fuzz_make = $(MAKE) --no-print-directory BUILD=$(FUZZ_BUILD) CC=clang SANITIZE=fuzzer-no-link,address,undefined OPT="-O1 -g"

.PHONY: fuzz fuzz-check fuzz-build
fuzz:
	@$(fuzz_make) FUZZ="$(FUZZ)" fuzz-build
	@FUZZ_SEED=$(FUZZ_SEED) tests/fuzz/run $(FUZZ_BUILD) $(FUZZ_SECONDS) $(FUZZ_PROGRAMS)
fuzz-check:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=60 FUZZ_SEED=1

# From here on: inside of fuzz_make, where BUILD and the flags are those of fuzzing.
fuzz_rooms = $(or $(shell sed -n 's|^// ROOMS: *||p' tests/fuzz/fuzz_$(1).c),base model policy)
fuzz-build: $(FUZZ:%=$(BUILD)/tests/fuzz/fuzz_%)

define fuzz_rule
$(BUILD)/tests/fuzz/fuzz_$(1): $(BUILD)/tests/fuzz/fuzz_$(1).o $(BUILD)/tests/fuzz/same.o $(foreach room,$(call fuzz_rooms,$(1)),$(BUILD)/lib$(room).a)
	$$(call link,-fsanitize=fuzzer -Wl$$(comma)--allow-multiple-definition -Wl$$(comma)--start-group $$^ -Wl$$(comma)--end-group,$$(LIBS_base) $$(LIBS_http) -lsqlite3 -lmicrohttpd -lpthread)
endef
$(foreach target,$(FUZZ),$(eval $(call fuzz_rule,$(target))))
