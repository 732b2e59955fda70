# make sanitized-unit [T=...]: unit tests under AddressSanitizer and UndefinedBehaviorSanitizer. Worlds (sim.mk) and fuzzing
# (fuzz.mk) use the same build, which therefore has clang's hooks for coverage. build-tsan is the one for what has threads.
SANITIZED_BUILD ?= build-clang
# lld, where it is there, links one of these programs in a third of the time.
sanitized_make = $(MAKE) --no-print-directory BUILD=$(SANITIZED_BUILD) CC=clang SANITIZE=fuzzer-no-link,address,undefined OPT="-O1 -g1" WERROR=1 \
                 $(if $(shell command -v ld.lld),LDFLAGS=-fuse-ld=lld)
threads_make = $(MAKE) --no-print-directory BUILD=build-tsan CC=gcc SANITIZE=thread OPT="-O1 -g1" WERROR=1 \
               T="$(shell grep -lE 'pthread|executor_threads|node_commands_new|db_open|api_start|http_start' $$(find tests/unit tests/sim -name 'test_*.c'))"

.PHONY: sanitized-build sanitized-unit threads-build threads-unit
sanitized-build:
	@$(sanitized_make) all unit-build fuzz-build
sanitized-unit:
	@$(sanitized_make) unit
threads-build:
	@$(threads_make) unit-build
threads-unit:
	@$(threads_make) unit
