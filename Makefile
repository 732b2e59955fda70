# Holdfast. `make` builds, `make demo` shows it, `make check` proves it, `make bench` measures it.
#
#   make                    build/hpd build/hpctl build/hp-agent build/hprun build/hp-auto-resume, and srun's plugin
#   make BUILD=dir CC=clang SANITIZE=address,undefined     the same elsewhere, otherwise
#   make unit [T=tests/unit/base/test_text.c]              unit tests (all, or some)
#   make check              everything; installs what the tests need
#   make DOCS=no            without Swagger UI at /docs, and so without npm
#   make WERROR=1           more warnings, and each is an error: the rule for every goal but all, install, demo and bench
#   make install            programs, manual pages and systemd units, below PREFIX=/usr/local (and DESTDIR)
#   make help               this

BUILD ?= build
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SANITIZE ?=
OPT ?= -O2 -g
PREFIX ?= /usr/local

# A compiler or library newer than ours may warn of more: that must not stop a user's build. What only developers make is strict.
WERROR ?= $(if $(filter-out all install uninstall demo bench help clean,$(MAKECMDGOALS)),1)
export WERROR
WARN := -Wall -Wextra
ifneq ($(WERROR),)
WARN += -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef \
        -Wformat=2 -Wno-format-nonliteral -Werror
endif
CFLAGS_ALL := -std=gnu11 $(OPT) $(WARN) -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-strict-aliasing -I. $(CFLAGS)
LDFLAGS_ALL := -Wl,--as-needed -Wl,-z,relro,-z,now -pthread $(LDFLAGS)
# Where the processor can check that jumps and returns go where they should, and the compiler knows how.
CFLAGS_ALL += $(shell $(CC) -fcf-protection -x c -c /dev/null -o /dev/null 2>/dev/null && echo -fcf-protection)
ifneq ($(SANITIZE),)
# Instrumented code confuses the range analysis behind this one warning; the plain builds keep it.
CFLAGS_ALL := $(filter-out -D_FORTIFY_SOURCE=2,$(CFLAGS_ALL)) $(if $(findstring clang,$(CC)),,-Wno-format-truncation) -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS_ALL += -fsanitize=$(SANITIZE)
endif

# One static library per room; a program links the rooms it may use and nothing else.
# ROOMS limits what `make unit` builds, so that one room can be worked on alone.
ROOMS ?= base model policy simulate db server api agents cli
sources = $(filter-out %/main.c %/spank.c,$(shell find $(1) -name '*.c' 2>/dev/null | sort))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
ROOM_LIBS = $(foreach room,$(ROOMS),$(BUILD)/lib$(room).a)

LIBS_base := -lm -lgnutls -lnettle -ljansson -lyaml -lpcre2-8 -lexpat -lssh2 -lhs
LIBS_http := -lcurl
COMMA := ,

.PHONY: all
all: $(BUILD)/hpd $(BUILD)/hpctl $(BUILD)/hp-agent $(BUILD)/hprun $(BUILD)/hp-auto-resume $(BUILD)/holdfast_auto_resume.so

define room_rules
$(BUILD)/lib$(1).a: $(call objects,$(call sources,$(1)))
	@rm -f $$@
	@$$(AR) rcs $$@ $$^
endef
$(foreach room,base model policy simulate db server api agents cli,$(eval $(call room_rules,$(room))))

# Other flags or another compiler in the same directory build everything anew, instead of mixing.
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS_ALL)' | cmp -s - $@ || echo '$(CC) $(CFLAGS_ALL)' >$@
.PHONY: always

$(BUILD)/%.o: %.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "CC    $@"
	@$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# cmocka 2 deprecates assert_in_range, and cmocka 1 has nothing in its place. clang does not take the release at the end of
# its scope for a use of a variable, and "\x7f" "ELF" for a lost comma; gcc checks both.
$(BUILD)/tests/%.o: private CFLAGS_ALL += -Wno-deprecated-declarations $(if $(findstring clang,$(CC)),-Wno-unused-variable -Wno-string-concatenation)

# Files that are carried inside the binaries (EMBED): the assembler reads them, so make has to be told.
$(BUILD)/db/migrations.o: $(wildcard migrations/*.sql)
$(BUILD)/api/openapi.o: $(wildcard openapi.yaml)

# Swagger UI, fetched with npm. Without npm, or with DOCS=no, hpd is built without it and says so at /docs.
DOCS ?=
$(BUILD)/docs/ready: always
	@scripts/swagger-ui $(BUILD)/docs $(DOCS)
$(BUILD)/api/v1/docs.o: $(BUILD)/docs/ready $(wildcard api/docs/*)
$(BUILD)/api/v1/console.o: $(wildcard web/*)
$(BUILD)/api/v1/docs.o: private CFLAGS_ALL += -DDOCS_DIR='"$(BUILD)/docs"'

link = @mkdir -p $(@D); echo "LD    $@"; $(CC) $(CFLAGS_ALL) -o $@ $(1) $(LDFLAGS_ALL) $(2)

$(BUILD)/hpd: $(BUILD)/server/main.o $(BUILD)/libapi.a $(BUILD)/libserver.a $(BUILD)/libdb.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,-lmicrohttpd -lsqlite3 $(LIBS_http) $(LIBS_base))
# Of the server's room the simulator takes the reader of policy documents, and nothing else comes along.
$(BUILD)/hpctl: $(BUILD)/cli/main.o $(BUILD)/libcli.a $(BUILD)/libsimulate.a $(BUILD)/libserver.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_http) $(LIBS_base))
$(BUILD)/hp-agent: $(BUILD)/agents/node/main.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_base))

# For nodes that may install nothing: it needs libc alone, and GnuTLS where it speaks https. One without libc could load neither GnuTLS nor NVML.
.PHONY: static-agent
static-agent: $(BUILD)/hp-agent-static
$(BUILD)/hp-agent-static: $(BUILD)/agents/node/main.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,-s -lm -Wl$(COMMA)-Bstatic -lnettle -ljansson -lexpat -Wl$(COMMA)-Bdynamic)

$(BUILD)/hp-auto-resume: $(BUILD)/agents/slurm/main.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,$(LIBS_http) $(LIBS_base))

$(BUILD)/hprun: $(BUILD)/agents/launcher/main.o $(BUILD)/libagents.a $(BUILD)/libpolicy.a $(BUILD)/libmodel.a $(BUILD)/libbase.a
	$(call link,$^,-lmicrohttpd $(LIBS_base))

# The plugin is loaded into the site's own srun, so it is built without sanitizers and of nothing but libc.
PLUGIN_SOURCES := agents/slurm/spank.c agents/slurm/option.c agents/slurm/submit.c
$(BUILD)/holdfast_auto_resume.so: $(PLUGIN_SOURCES) $(wildcard agents/slurm/*.h) Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "LD    $@"
	@$(CC) $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(CFLAGS_ALL)) -fPIC -shared -o $@ $(PLUGIN_SOURCES)

# --- unit tests: one program per tests/unit/ROOM/test_*.c, linked with the rooms --------------------------------
T ?= $(shell find $(foreach room,$(ROOMS),tests/unit/$(room)) tests/policy tests/sim -name 'test_*.c' 2>/dev/null | sort)
UNIT := $(patsubst %.c,$(BUILD)/%,$(T))
LIBS_unit := -lcmocka -lpthread $(LIBS_base) $(if $(filter db server api,$(ROOMS)),-lsqlite3) $(if $(filter agents api,$(ROOMS)),-lmicrohttpd) $(LIBS_http)
TEST_SUPPORT = $(call objects,$(call sources,tests/support))

$(UNIT): $(BUILD)/%: $(BUILD)/%.o $(TEST_SUPPORT) $(ROOM_LIBS)
	$(call link,$< $(TEST_SUPPORT) -Wl$(comma)--start-group $(ROOM_LIBS) -Wl$(comma)--end-group,$(LIBS_unit))
comma := ,

.PHONY: unit unit-build
unit-build: $(UNIT)
unit: $(UNIT)
	@tests/run-unit $(UNIT)

.PHONY: lint format format-check
lint:
	@tests/lint/run
format:
	@find $(ROOMS) bench tests -name '*.[ch]' -not -path '*/node_modules/*' | xargs clang-format -i
format-check:
	@find $(ROOMS) bench tests -name '*.[ch]' -not -path '*/node_modules/*' | xargs clang-format --dry-run -Werror

.PHONY: help
help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' Makefile

.PHONY: clean
clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

include $(wildcard mk/*.mk)
