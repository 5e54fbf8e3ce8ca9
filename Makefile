# Two commands: `make demo` (the main job, end to end) and `make test` (all three tiers).
#   make build            programs and static guest agent into $(OUT), laid out like an installation
#   make image            guest image and Docker engine into the cache
#   make test-unit        unit tests and fuzz corpora          T=mux: one module
#   make test-cli         the real programs on the fake driver  F=tests/cli/x.bats: one file
#   make test-vm          the real guest                        F=tests/vm/x.bats: one file
#   make lint             layers, lengths, shellcheck, format
#   make fuzz             libFuzzer on every parser              T="config yq" FUZZ_SECONDS=600
#   V=1 shows the commands
#   make install PREFIX=  make SAN=address,undefined test-unit
comma := ,
OUT ?= out$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX ?= /usr/local
OS := $(shell uname -s)
ARCH := $(shell uname -m)
VERSION := $(shell cat VERSION)

CC = gcc
# Quiet by default; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $@")
GUEST_CC ?= musl-gcc
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
BASE_CFLAGS := -std=gnu11 -I. -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -MMD -MP $(WARN)
ALL_CFLAGS = $(BASE_CFLAGS) -include lib/banned.h -ffunction-sections -fdata-sections \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(CFLAGS)
ALL_LDFLAGS = -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro,-z,now $(LDFLAGS)
# musl-gcc has no kernel headers of its own; those of the host come last, so libc headers stay musl's.
GUEST_CFLAGS := $(BASE_CFLAGS) -include lib/banned.h -Os -ffunction-sections -fdata-sections
MUSL_CFLAGS := -idirafter /usr/include -idirafter /usr/include/$(ARCH)-linux-gnu
# Guests of the other architecture run under emulation. Debian has no musl for a cross compiler, so their agent is static
# with glibc: larger, else the same. None is built where the compiler is missing.
CROSS_ARCH := $(if $(filter x86_64,$(ARCH)),aarch64,x86_64)
CROSS_CC ?= $(shell command -v $(CROSS_ARCH)-linux-gnu-gcc 2>/dev/null)

LIB_SRC   := $(wildcard lib/*.c)
CORE_SRC  := $(LIB_SRC) $(foreach d,base yaml yq gotmpl config store plan driver,$(wildcard limactl-c/$d/*.c))
CLI_SRC   := $(wildcard limactl-c/cli/*.c)
HA_SRC    := $(wildcard limactl-c/hostagent/*.c)
IMAGE_SRC := $(wildcard limactl-c/image/*.c)
RESOLVER_SRC := $(wildcard limactl-c/resolver/*.c)
WATCHER_SRC := $(wildcard limactl-c/watcher/*.c)
SSH_SRC   := $(wildcard limactl-c/ssh/*.c)
SFTP_SRC  := $(wildcard limactl-c/sftp/*.c)
GUEST_SRC := $(LIB_SRC) $(wildcard guestagent/*.c)
obj = $(addprefix $(OUT)/obj/,$(addsuffix .o,$(1)))
# What a test links: everything but the file that has main().
no_main = $(filter-out %/main.c,$(1))

# Each program links only the libraries it needs: what stays resident is small (bench/footprint.sh).
CLI_LIBS   := -lyaml -ljansson
HA_LIBS    := -luv -ljansson
IMAGE_LIBS := -lcurl -larchive -lcrypto -lz -lzstd
RESOLVER_LIBS := -lresolv -lpthread
SSH_LIBS   := -lssh2 -ljansson
TEST_LIBS  := -lcmocka -lyaml -ljansson -luv -lcurl -larchive -lcrypto -lz -lzstd -lssh2 $(RESOLVER_LIBS)

BIN   := $(OUT)/bin/limactl-c
LIBEXEC := $(OUT)/libexec/limactl-c
SHARE := $(OUT)/share/limactl-c
AGENT := $(SHARE)/lima-guestagent.Linux-$(ARCH)
CROSS_AGENT := $(if $(CROSS_CC),$(SHARE)/lima-guestagent.Linux-$(CROSS_ARCH))

build: $(BIN) $(OUT)/bin/lima $(LIBEXEC)/hostagent $(LIBEXEC)/image $(LIBEXEC)/resolver $(LIBEXEC)/watcher $(LIBEXEC)/ssh $(LIBEXEC)/sftp $(AGENT) $(CROSS_AGENT) $(SHARE)/.staged

$(OUT)/bin/lima: limactl-c/cli/lima
	@mkdir -p $(@D)
	$(Q)install $< $@
$(OUT)/core.a: $(call obj,$(CORE_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^
$(BIN): $(call obj,$(CLI_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(CLI_LIBS)
$(LIBEXEC)/hostagent: $(call obj,$(HA_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(HA_LIBS)
$(LIBEXEC)/image: $(call obj,$(IMAGE_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(IMAGE_LIBS)
$(LIBEXEC)/resolver: $(call obj,$(RESOLVER_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(RESOLVER_LIBS)
$(LIBEXEC)/watcher: $(call obj,$(WATCHER_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^
$(LIBEXEC)/ssh: $(call obj,$(SSH_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(SSH_LIBS)
$(LIBEXEC)/sftp: $(call obj,$(SFTP_SRC)) $(OUT)/core.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^

$(OUT)/obj/%.o: % Makefile VERSION
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The guest agent: static, libc only.
GUEST_OBJ := $(addprefix $(OUT)/guest/,$(addsuffix .o,$(GUEST_SRC)))
$(OUT)/guest/%.o: % Makefile VERSION
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(GUEST_CC) $(GUEST_CFLAGS) $(MUSL_CFLAGS) -c -o $@ $<
$(AGENT): $(GUEST_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(GUEST_CC) -static -s -Wl,--gc-sections -o $@ $^
CROSS_OBJ := $(addprefix $(OUT)/cross/,$(addsuffix .o,$(GUEST_SRC)))
$(OUT)/cross/%.o: % Makefile VERSION
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CROSS_CC) $(GUEST_CFLAGS) -c -o $@ $<
# The linker warns of getpwnam and the like, whose sources other than files need glibc's own modules; guests have none.
$(CROSS_AGENT): $(CROSS_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CROSS_CC) -static -s -Wl,--gc-sections -Wl,--no-warnings -o $@ $^

# The folders are named too: their time changes when a file is taken away.
$(SHARE)/.staged: $(wildcard templates templates/* templates/*/* provision/* provision/*/* provision/*/*/*)
	@mkdir -p $(SHARE)
	rm -rf $(SHARE)/templates $(SHARE)/provision
	cp -R templates provision $(SHARE)/
	@touch $@

# Tests. A unit test links the module's own layer and all below it, programs' modules included.
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
$(OUT)/programs.a: $(call obj,$(call no_main,$(CLI_SRC) $(HA_SRC) $(IMAGE_SRC) $(RESOLVER_SRC) $(WATCHER_SRC) $(SSH_SRC) $(SFTP_SRC) $(wildcard guestagent/*.c)))
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^
$(OUT)/test_%: $(OUT)/obj/tests/unit/test_%.c.o $(OUT)/programs.a $(OUT)/core.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(OUT)/core.a $(TEST_LIBS)
$(OUT)/replay_%: $(OUT)/obj/tests/fuzz/%.c.o $(OUT)/obj/tests/fuzz/replay.c.o $(OUT)/programs.a $(OUT)/core.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(OUT)/core.a $(TEST_LIBS)
# libFuzzer programs, sanitized, from objects of their own (gcc has given the warnings). Each runs for FUZZ_SECONDS, 60 in CI; those of
# FUZZ_SMALL, whose few branches are all known by then, for a quarter of it.
FUZZ_SECONDS ?= 10
FUZZ_SMALL := agentless agentproto containers dns dns_answer docker_api execproto fevent harvest http image_boot_config image_manifest nat_rules opts plan qcow2_snapshots qmp session socks
run_fuzz = OUT=$(OUT) FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SMALL="$(FUZZ_SMALL)"
FUZZ_CC ?= clang-14
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=all
$(OUT)/fuzz/%.o: % Makefile VERSION
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(FUZZ_CC) $(BASE_CFLAGS) -w -g -O1 -ffunction-sections -fdata-sections $(FUZZ_SAN) -fsanitize=fuzzer-no-link -c -o $@ $<
fuzz_obj = $(addprefix $(OUT)/fuzz/,$(addsuffix .o,$(1)))
$(OUT)/fuzz/core.a: $(call fuzz_obj,$(CORE_SRC) $(call no_main,$(CLI_SRC) $(HA_SRC) $(IMAGE_SRC) $(RESOLVER_SRC) $(WATCHER_SRC) $(SSH_SRC) $(SFTP_SRC) $(wildcard guestagent/*.c)))
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^
$(OUT)/fuzz_%: $(OUT)/fuzz/tests/fuzz/fuzz_%.c.o $(OUT)/fuzz/core.a
	$(call say,LD)
	$(Q)$(FUZZ_CC) $(FUZZ_SAN) -fsanitize=fuzzer -Wl,--gc-sections -o $@ $^ $(filter-out -lcmocka,$(TEST_LIBS))

# Static: they also run in guests.
bench-tools: $(patsubst bench/%.c,$(OUT)/bench/%,$(wildcard bench/*.c))
$(OUT)/bench/%: bench/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -static -o $@ $<

unit: $(OUT)/test_$(T)
	$(OUT)/test_$(T)
unit-programs: $(if $(T),$(OUT)/test_$(T),$(UNIT:%=$(OUT)/%) $(FUZZ:%=$(OUT)/replay_fuzz_%))

test-unit: unit-programs build
	@OUT=$(OUT) tests/run unit $(T)
test-cli: build
	@OUT=$(OUT) tests/run cli $(F)
test-vm: build image
	@OUT=$(OUT) tests/run vm $(F)
test: deps
	@$(MAKE) --no-print-directory build unit-programs fuzz-programs image
	@$(run_fuzz) FUZZED="$(FUZZ)" tests/run all

deps:
	@.ci/deps
image: $(LIBEXEC)/image
	@OUT=$(OUT) provision/image/make-cache
demo:
	@.ci/demo
lint:
	@.ci/lint
fuzz-programs: $(FUZZ:%=$(OUT)/fuzz_%)
fuzz: $(if $(T),$(T:%=$(OUT)/fuzz_%),fuzz-programs)
	@$(run_fuzz) tests/run fuzz $(or $(T),$(FUZZ))

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/limactl-c $(DESTDIR)$(PREFIX)/share/limactl-c
	install $(BIN) $(OUT)/bin/lima $(DESTDIR)$(PREFIX)/bin
	install $(LIBEXEC)/hostagent $(LIBEXEC)/image $(LIBEXEC)/resolver $(LIBEXEC)/watcher $(LIBEXEC)/ssh $(LIBEXEC)/sftp $(DESTDIR)$(PREFIX)/libexec/limactl-c
	install -m 755 $(AGENT) $(CROSS_AGENT) $(DESTDIR)$(PREFIX)/share/limactl-c
	cp -R templates provision $(DESTDIR)$(PREFIX)/share/limactl-c

clean:
	rm -rf out out-*

.PHONY: build bench-tools unit unit-programs fuzz-programs test test-unit test-cli test-vm deps image demo lint fuzz install clean
.SECONDARY:
-include $(shell find $(OUT)/obj $(OUT)/guest $(OUT)/cross $(OUT)/fuzz -name '*.d' 2>/dev/null)
