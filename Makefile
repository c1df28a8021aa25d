# The one entry to the project. `make` alone lists the targets.
#
# Variables: BUILD (default build), CC, GO, NVCC, CUDA_HOME, BITCODE_CLANG (a clang, 16 to 19, for
# libnvshmem_device.bc), KERNELS (yes: build makes the library's own kernels in any case; no: install
# leaves them out, too), NVSHMEM (no: install leaves out the files for NVSHMEM programs), PREFIX
# (default /usr/local), DESTDIR, DIST (default dist), ARGS (of make test: names of stages, as it prints
# them), GLIBC and MACHINE (of make wheel: the oldest glibc that it runs with, as 2.28, and the
# processor, x86_64 or aarch64). All outputs go below $(BUILD), except wheels and releases, which go
# below $(DIST).

BUILD  ?= build
DIST   ?= dist
PREFIX ?= /usr/local
GO     ?= go
# A build for an older glibc, or for another processor, has a folder of its own (packaging/rules.mk).
# It takes tools, kernels and bitcode from the folder BASE.
HOST    := $(shell uname -m)
MACHINE := $(HOST)
BASE    := $(BUILD)
STRIP   := strip
# make's own default for CC is cc, which may be another compiler than the one that set-up has
# checked.
ifeq ($(origin CC),default)
CC := gcc
endif

# The flags of the libraries for all that Go builds here, also in scripts and tests: then it compiles
# each package once, for libraries, commands, generators, tests, vet and staticcheck alike. -trimpath
# lets a copy of the tree in another folder share them, too.
export GOFLAGS := -trimpath -buildmode=pie $(GOFLAGS)

VERSION := $(shell cat VERSION)

# The generator of files that are not committed, and the folder of its output.
GENERATOR := $(BUILD)/obj/gen
GEN       := $(BUILD)/gen

# What the commands say of themselves, as manual pages and as completion for bash and zsh.
COMMANDS := $(BUILD)/commands

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

##@ Use
.PHONY: help
help: ## list the targets
	@awk -f scripts/help.awk $(firstword $(MAKEFILE_LIST)) scripts/install/rules.mk packaging/rules.mk

.PHONY: demo
demo: ## set up, build, and show data moving on one node and between two
	@scripts/step "demo: set-up" scripts/setup demo
	@scripts/step "demo: building the library, its launcher and two programs, and fetching a model" \
	    $(MAKE) --no-print-directory -s $(PARALLEL) $(DEMO)
	@BUILD=$(BUILD) examples/demo.sh $(MODEL)
	@echo && echo "demo: $$(($$(date +%s) - $(shell date +%s))) s in all" # make has expanded this before the first line

.PHONY: build
build: ## the two libraries and the commands, into build/lib and build/bin; kernels where CUDA is

##@ Prove
.PHONY: test
test: ## set up, build, and run every test; prints seconds per stage
	@scripts/test $(ARGS)

.PHONY: test-full
test-full: ## the same, and the long searches: hours
	@scripts/test full $(ARGS)

.PHONY: gpu-test
gpu-test: ## build what tests/gpu/run.sh runs on a machine with a GPU

.PHONY: check
check: ## linters, generated files, headers, import graph
	@scripts/check

.PHONY: bench
bench: ## compare with Open MPI's OSHMEM, measure starts, rings and compilers; writes bench/results
	@scripts/setup bench
	@$(MAKE) --no-print-directory -s build $(BUILD)/gpu/ring
	@python3 bench/run.py
	@python3 bench/chart.py
	@python3 bench/start.py
	@python3 bench/waits.py
	@python3 bench/waits_hosts.py
	@python3 bench/collectives_hosts.py
	@python3 bench/stalls.py --jobs 60
	@python3 bench/preload.py
	@rm -f bench/results/ring-host.jsonl
	@$(BUILD)/gpu/ring -seconds 2 -out bench/results/ring-host.jsonl >/dev/null
	@python3 bench/ring/report.py
	@PYTHONPATH=$$(scripts/setup --tool python)/lib python3 bench/python_calls.py
	@scripts/setup kernels
	@python3 bench/compile_time.py
	@python3 bench/support.py

.PHONY: gpu-bench
gpu-bench: ## build what bench/gpu/run.sh runs on a machine with a GPU

##@ Change
.PHONY: format
format: ## format Go, C and Python as check wants it
	@scripts/check --format

.PHONY: gen
gen: ## write the generated files anew, from abi/table, capi/spec, runtime/config and fabric/ofi/stub
	@$(GO) run ./abi/gen
	@$(GO) run ./capi/gen
	@$(GO) run ./fabric/ofi/stub/gen
	@$(GO) run ./runtime/config/gendoc -o docs/reference/environment.md
	@$(GO) run ./runtime/config/gendoc --nvshmem docs/start/from-nvshmem.md
	@$(GO) run ./runtime/config/gendoc --python -o python/shmem/_settings.py

.PHONY: docs
docs: man ## the manual pages, into build/man, and a site of docs/, into build/site
	@BUILD=$(BUILD) scripts/setup docs && BUILD=$(BUILD) scripts/site $(BUILD)/site

# The part of docs that install needs. It fetches nothing.
.PHONY: man
man: $(BUILD)/man/list $(COMMANDS)/made
	@rm -rf $(BUILD)/man/man1 && cp -R $(COMMANDS)/man/man1 $(BUILD)/man

# Not committed: 2,500 files that one table makes in a second.
$(BUILD)/man/list: $(GENERATOR)
	@rm -rf $(@D)
	$(GENERATOR) -man $(@D)

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

# ------------------------------------------------- what the generator makes

# Not committed: the public functions with their second names, the version script, tests that call
# each name of the table, and the functions of the shim. The files are listed here, so that make help
# and make clean need no Go. tests/run fails when a generated program is missing here, tests/abi and
# tests/nvshmem when the library lacks the functions of a file.
PRELOAD_GEN := $(GEN)/preload/zz_calls.c $(GEN)/preload/zz_shmem.c $(GEN)/preload/zz_nvshmem.c
FRONT_GEN   := $(patsubst %,$(GEN)/front/zz_%.c,activesets atomics collectives contexts deprecated lock memory ordering reduce rma \
    setup signal stream strided teams wait)
NVSHMEM_GEN := $(patsubst %,$(GEN)/nvshmem/front/zz_%.c,atomics collectives half memory nvshmem ordering reduce reducescatter rma setup \
    signal stream strided teams)
TEST_GEN := $(patsubst %,$(GEN)/c/zz_%.c,activesets atomics collectives deprecated generic reduce rma signal strided wait)
MADE := $(FRONT_GEN) $(NVSHMEM_GEN) $(TEST_GEN) $(foreach s,gpu nvshmem/gpu,$(GEN)/$(s)/zz_functions.h $(GEN)/$(s)/zz_names.txt) \
        $(PRELOAD_GEN) $(GEN)/abi/zz_overloads.cc $(GEN)/front/zz_libshmem.map $(GEN)/nvshmem/front/zz_libshmem_nvshmem.map

# Go's name of another processor.
GO_FOR = $(if $(filter-out $(HOST),$(MACHINE)),GOARCH=$(or $(and $(filter aarch64,$(MACHINE)),arm64),$(and $(filter x86_64,$(MACHINE)),amd64),$(error MACHINE=$(MACHINE): set it to x86_64 or aarch64)))

# Go's commands run one after the other: two at once each compile the packages that both need, of
# Go's own library above all. From an empty cache that took 20 s of a processor more.
GO_BUILD := flock $(BUILD)/obj/go.lock $(GO) build

$(GENERATOR): go.mod VERSION version.go $(wildcard capi/gen/*.go capi/spec/*.go internal/generated/*.go runtime/config/*.go)
	@$(FIT)
	@mkdir -p $(@D)
	$(GO_BUILD) -o $@ ./capi/gen

$(GEN)/made: $(GENERATOR)
	$< -build $(@D)
	@touch $@

# With an empty recipe make looks at the time of the file, which the generator leaves alone
# when its text is the same.
$(MADE): $(GEN)/made ;
$(GEN)/front/%.h $(GEN)/preload/%.h: $(GEN)/made ;

# ---------------------------------------------------------------- libraries

CFLAGS_C   := -std=gnu11 -Wall -Wextra -Werror
CFLAGS_LIB := $(CFLAGS_C) -O2 -g -fPIC -fno-strict-aliasing -fwrapv -fvisibility=hidden -Iinclude -Iabi -Idevice \
              -ffile-prefix-map=$(CURDIR)=. -DSHMEMI_VERSION='"$(VERSION)"'
# NODELETE: the front starts a Go runtime in the process, and a Go runtime
# cannot be unloaded, so dlclose must not take its caller away.
LDFLAGS_SO := -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete

# NVTX is headers only. Where set-up has not fetched them, the compiler may have them; else the
# library has no ranges, and says so when the program asks for some.
NVTX         := $(lastword $(sort $(wildcard $(BASE)/tools/nvtx-*)))
FLAGS_ranges := $(NVTX:%=-isystem %)

FRONT_SRC := $(wildcard capi/front/*.c)
FRONT_MAP := $(GEN)/front/zz_libshmem.map
CORE_MAP  := capi/core/zz_core.map
HEADERS := $(sort $(shell find include -type f -name '*.h' -o -type f -name '*.cuh' -o -type f -name '*.hpp' 2>/dev/null))
# Without the headers that only NVSHMEM programs include.
HEADERS_OWN := $(filter-out include/nvshmem/%,$(HEADERS))
# Generated functions only pass their arguments on: a third of the compiler's time went to what
# debuggers know of their variables. With -g1 they still have names and lines.
GENERATED_G := -g1
NVSHMEM_ARCHIVES := libnvshmem_device.a libnvshmem.a

# The program that shmem-perf starts as PEs.
PERF_SRC    := $(wildcard $(addprefix cmd/shmem-perf/measure/,*.[ch] *.cu *.cuh))
PERF_TABLES := $(wildcard cmd/shmem-perf/tables/*.table)

CMDS   := $(sort $(patsubst cmd/%/,%,$(dir $(wildcard cmd/*/*.go))))
GO_SRC := go.mod VERSION $(wildcard go.sum) \
          $(filter-out $(PERF_SRC),$(shell find version.go capi cmd fabric runtime -name '*.go' -o -name '*.[chS]' 2>/dev/null))

BUILT := $(BUILD)/libexec/shmem/perf $(BUILD)/bin/shmem-perf $(BUILD)/lib/libshmem.so $(BUILD)/lib/libshmem_core.so $(BUILD)/lib/libnvshmem_host.so $(BUILD)/lib/libshmem_preload.so $(BUILD)/lib/libshmem_rma.so $(NVSHMEM_ARCHIVES:%=$(BUILD)/lib/%) $(CMDS:%=$(BUILD)/bin/%)

# The prerequisites of a build: recipes of C check them once, each recipe of Go when it runs.
FIT := BUILD=$(BASE) GO="$(GO)" CC="$(CC)" scripts/setup build
$(BUILD)/obj/fit:
	@$(FIT)
	@mkdir -p $(@D)
	@touch $@

# The libraries, plain and under two sanitizers. In a sanitizer build the C of the core is
# instrumented too; cgo then also tells ThreadSanitizer about the order that the Go runtime makes
# between threads. The arguments: name, compiler flags, folder, linker flags, and the build with the
# objects of generated sources: this one or another.
#
# The core's version script can only be given here: #cgo LDFLAGS refuses the option, and without it
# some 45 names of the Go runtime would be exported. The header that go build writes beside the
# library has no use: the functions are behind one table.
define library_rules
$(BUILD)/obj/$(1)/%.o: capi/front/%.c VERSION Makefile | $(BUILD)/obj/fit
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS_LIB) $(2) $$(FLAGS_$$*) -MMD -MP -c -o $$@ $$<

$(BUILD)/obj/$(1)/made/%.o: $(GEN)/front/%.c VERSION Makefile | $(BUILD)/obj/fit
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS_LIB) $(2) $(GENERATED_G) -iquote capi/front -MMD -MP -c -o $$@ $$<

$(BUILD)/obj/$(1)/ranges.o: $(NVTX:%=%/nvtx3/nvToolsExt.h)

$(3)/libshmem.so: $(FRONT_SRC:capi/front/%.c=$(BUILD)/obj/$(1)/%.o) $(FRONT_GEN:$(GEN)/front/%.c=$(BUILD)/obj/$(5)/made/%.o) $(FRONT_MAP)
	@mkdir -p $$(@D)
	$(CC) -shared -o $$@ $(2) -Wl,-soname,libshmem.so -Wl,--version-script=$(FRONT_MAP) \
	    $(LDFLAGS_SO) $(4) $$(filter %.o,$$^)

-include $(FRONT_SRC:capi/front/%.c=$(BUILD)/obj/$(1)/%.d) $(FRONT_GEN:$(GEN)/front/%.c=$(BUILD)/obj/$(1)/made/%.d)
endef

define core_rules
$(3)/libshmem_core.so: $(GO_SRC) $(CORE_MAP)
	@$(FIT)
	@mkdir -p $$(@D) $(BUILD)/obj/$(1)
	$(GO_FOR) CGO_ENABLED=1 CC="$(CC)" CGO_CFLAGS="-O2 -g $(2)" CGO_LDFLAGS="$(2)" \
	$(GO_BUILD) -buildmode=c-shared \
	    -ldflags "$(GO_LDFLAGS) -extldflags '-Wl,-soname,libshmem_core.so -Wl,--version-script=$(abspath $(CORE_MAP)) $(LDFLAGS_SO) $(4)'" \
	    -o $(BUILD)/obj/$(1)/libshmem_core.so ./capi/core/library
	cp $(BUILD)/obj/$(1)/libshmem_core.so $$@.new
	mv -f $$@.new $$@
endef
# ThreadSanitizer does not see fences: -Wno-tsan keeps gcc from refusing them. -O1: with -O2 the
# compiler takes half as long again, and reports are no better. -g1: they have lines, and no
# variables.
ASAN := -O1 -g1 -fsanitize=address -fno-omit-frame-pointer
TSAN := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan -DSHMEMI_TSAN
# A sanitizer's own symbols come from the program, so -z defs must not be used.
UNDEFS := -Wl,-z,undefs
# ASAN_CORE=plain instruments only the hand-written C, and saves the 25 s that Go takes for a core
# of its own, and 15 s of the compiler (scripts/test).
$(eval $(call library_rules,plain,,$(BUILD)/lib,,plain))
$(eval $(call library_rules,asan,$(ASAN),$(BUILD)/asan/lib,$(UNDEFS),$(if $(filter plain,$(ASAN_CORE)),plain,asan)))
$(eval $(call library_rules,tsan,$(TSAN),$(BUILD)/tsan/lib,$(UNDEFS),tsan))
$(eval $(call core_rules,plain,,$(BUILD)/lib,))
$(eval $(call core_rules,tsan,$(TSAN),$(BUILD)/tsan/lib,$(UNDEFS)))
ifeq ($(ASAN_CORE),plain)
$(BUILD)/asan/lib/libshmem_core.so: $(BUILD)/lib/libshmem_core.so
	@mkdir -p $(@D)
	cp $< $@
else
$(eval $(call core_rules,asan,$(ASAN),$(BUILD)/asan/lib,$(UNDEFS)))
endif

include capi/nvshmem/rules.mk
include capi/rma/rules.mk

# Build files of NVSHMEM programs name archives with device code. Here device code is in the
# headers, so an archive has one empty object.
$(NVSHMEM_ARCHIVES:%=$(BUILD)/lib/%): $(BUILD)/lib/%: Makefile | $(BUILD)/obj/fit
	@mkdir -p $(@D) $(BUILD)/obj/nvshmem
	$(CC) -x c -c -o $(BUILD)/obj/nvshmem/$*.o /dev/null
	@rm -f $@
	$(AR) rcD $@ $(BUILD)/obj/nvshmem/$*.o

# What LD_PRELOAD puts before a SHMEM library. It has no version script: references with a version
# bind to a name without one. Its names are hidden but for those of the interface. The sanitizer
# builds are for programs that are built with the same sanitizer.
PRELOAD_SRC := $(wildcard capi/preload/*.c)
PRELOAD_C   := $(CFLAGS_C) -O2 -g -fPIC -fno-strict-aliasing -fvisibility=hidden -Icapi/preload -I$(GEN)/preload \
               -ffile-prefix-map=$(CURDIR)=.
define preload_rules
$(BUILD)/obj/preload$(1)/%.o: capi/preload/%.c Makefile | $(BUILD)/obj/fit $(GEN)/made
	@mkdir -p $$(@D)
	$(CC) $(PRELOAD_C) $(2) -MMD -MP -c -o $$@ $$<

$(BUILD)/obj/preload$(1)/%.o: $(GEN)/preload/%.c Makefile | $(BUILD)/obj/fit
	@mkdir -p $$(@D)
	$(CC) $(PRELOAD_C) $(2) $(GENERATED_G) -MMD -MP -c -o $$@ $$<

$(BUILD)/obj/preload$(1)/%.S.o: capi/preload/%.S Makefile | $(BUILD)/obj/fit
	@mkdir -p $$(@D)
	$(CC) $(PRELOAD_C) -c -o $$@ $$<

$(3)/libshmem_preload.so: $(patsubst %.c,$(BUILD)/obj/preload$(1)/%.o,$(notdir $(PRELOAD_SRC) $(PRELOAD_GEN))) $(BUILD)/obj/preload$(1)/lookup.S.o
	@mkdir -p $$(@D)
	$(CC) -shared -o $$@ $(2) -Wl,-soname,libshmem_preload.so $(LDFLAGS_SO) $(4) $$^ -ldl -pthread

-include $(patsubst %.c,$(BUILD)/obj/preload$(1)/%.d,$(notdir $(PRELOAD_SRC) $(PRELOAD_GEN)))
endef
$(eval $(call preload_rules,,,$(BUILD)/lib,))
$(eval $(call preload_rules,-asan,$(ASAN),$(BUILD)/asan/lib,$(UNDEFS)))
$(eval $(call preload_rules,-tsan,$(TSAN),$(BUILD)/tsan/lib,$(UNDEFS)))

# The launcher is pure Go, so that it runs where the C library is another one than here. Commands
# that use libfabric, or the engine, need cgo. Built as pie they share the packages that Go has
# compiled for the libraries: the launcher takes 6 s of a processor instead of 24.
PURE := shmemrun
$(CMDS:%=$(BUILD)/bin/%): $(BUILD)/bin/%: $(GO_SRC)
	@$(FIT)
	@mkdir -p $(@D) $(BUILD)/obj
	$(GO_FOR) CGO_ENABLED=$(if $(filter $*,$(PURE)),0,1) CC="$(CC)" $(GO_BUILD) $(if $(GO_LDFLAGS),-ldflags "$(GO_LDFLAGS) $(GO_STRIP)") -o $@ ./cmd/$*

# Those of another processor do not run here: COMMANDS names a folder that was made for this one.
DESCRIBED := $(CMDS) shmem-perf
ifeq ($(MACHINE),$(HOST))
$(COMMANDS)/made: $(DESCRIBED:%=$(BUILD)/bin/%) $(wildcard cmd/internal/manual/*.go cmd/internal/manual/write/*.go)
	@$(GO_BUILD) -o $(BUILD)/obj/manual ./cmd/internal/manual/write
	$(BUILD)/obj/manual $(BUILD)/bin $(@D)
	@touch $@
endif

$(BUILD)/bin/shmem-perf: scripts/install/shmem-perf $(BUILD)/bin/shmemrun
	@mkdir -p $(@D)
	install -m 755 $< $@

# An installation finds the library from its own place. The loops are aligned because a get of 8
# bytes took 1.2 or 1.9 ns, depending on whether its loop crossed a line of the cache (AMD EPYC,
# 2026-11-30).
$(BUILD)/libexec/shmem/perf: $(PERF_SRC) $(PERF_TABLES) $(HEADERS_OWN) $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_C) -O2 -g -falign-functions=64 -falign-loops=64 -Iinclude -o $@ $(filter %.c,$^) -L$(BUILD)/lib -lshmem \
	    -Wl,-rpath,'$$ORIGIN/../../lib'
	@mkdir -p $(BUILD)/share/libshmem/perf
	@ln -sfn $(abspath cmd/shmem-perf/measure $(PERF_TABLES)) $(BUILD)/share/libshmem/perf

# shmemrun puts the lib beside its own bin first for the PEs, so each sanitizer build gets a copy of
# it.
$(BUILD)/asan/bin/shmemrun $(BUILD)/tsan/bin/shmemrun: $(BUILD)/bin/shmemrun
	@mkdir -p $(@D)
	cp $< $@

# ----------------------------------------------------- examples, C programs

CTEST_SRC := $(wildcard tests/c/*.c) $(TEST_GEN)
CTESTS    := $(notdir $(basename $(CTEST_SRC)))

include examples/rules.mk

# The C tests, plain and under two sanitizers. The generated ones are long and need not be fast: -O0
# halves the time of their compilation. The arguments: suffix, compiler flags, folder.
.PHONY: tests tests-asan tests-asan-on-push tests-tsan
define ctest_rules
tests$(1): $(3)/bin/shmemrun $(3)/lib/libshmem_core.so $(CTESTS:%=$(3)/tests/%)

$(CTESTS:%=$(3)/tests/%): $(wildcard tests/c/*.h) $(HEADERS_OWN) $(3)/lib/libshmem.so
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS_C) $$(if $$(filter zz_%,$$(@F)),-O0 -g1,-O1 -g) -pthread -Iinclude -Idevice -Itests/c $(2) -o $$@ $$(filter %.c,$$^) -L$(3)/lib -lshmem -lm
$(foreach s,$(CTEST_SRC),$(eval $(3)/tests/$(notdir $(basename $(s))): $(s)))
endef
$(eval $(call ctest_rules,,,$(BUILD)))
$(eval $(call ctest_rules,-asan,$(ASAN),$(BUILD)/asan))
$(eval $(call ctest_rules,-tsan,$(TSAN),$(BUILD)/tsan))
# What make test builds with AddressSanitizer, and tests/run runs (onPush).
ASAN_ON_PUSH := collectives memory mesh messages notify rings sendrecv statics
tests-asan-on-push: $(patsubst %,$(BUILD)/asan/%,bin/shmemrun lib/libshmem_core.so $(ASAN_ON_PUSH:%=tests/%))

tests: $(MADE)

# A libfabric with NICs that the machine does not have, for tests: SHMEM_LIBFABRIC names it.
STUB := fabric/ofi/stub/lib
tests: $(BUILD)/stub/libfabric.so.1
$(BUILD)/stub/libfabric.so.1: $(wildcard $(STUB)/*.[ch]) $(STUB)/libfabric.map fabric/ofi/stub/zz_rules.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_C) -O1 -g -fPIC -pthread -shared -Wl,-soname,libfabric.so.1 -Wl,--version-script=$(STUB)/libfabric.map \
	    -Wl,-z,defs -o $@ $(filter %.c,$^)

tests: $(patsubst tests/chaos/%.c,$(BUILD)/chaos/%,$(wildcard tests/chaos/*.c))
$(BUILD)/chaos/%: tests/chaos/%.c $(HEADERS_OWN) $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_C) -O2 -Iinclude -o $@ $< -L$(BUILD)/lib -lshmem

# The long searches, as programs that need neither Go nor a C library where they run: scripts/parts
# spreads them over the cores of a machine. The linker's warning is about dlopen, which they never
# reach: their networks are simulated.
SEARCHES := $(BUILD)/search/proxy.test $(BUILD)/search/sequence.test $(BUILD)/search/wire.test
.PHONY: searches
searches: $(SEARCHES)
$(BUILD)/search/proxy.test: TESTED := -ldflags '-s -linkmode external -extldflags "-static -Wl,--no-warnings"' ./runtime/proxy
$(BUILD)/search/sequence.test: TESTED := -ldflags -s ./runtime/sequence
$(BUILD)/search/wire.test: TESTED := -ldflags -s ./runtime/bootstrap/wire
$(SEARCHES): $(GO_SRC) $(wildcard tests/need/*.go queue/*.go queue/queuetest/*.go)
	@mkdir -p $(@D)
	CGO_ENABLED=$(if $(findstring proxy,$@),1,0) CC="$(CC)" $(GO) test -c -o $@ $(TESTED)

# -------------------------------------------------------------- device code

include device/rules.mk
include device/bitcode/rules.mk
build: $(BUILT) $(KERNELS_OF_BUILD) $(BITCODE_OF_BUILD)
include tests/gpu/rules.mk
include tests/gpu/oracle/rules.mk
include tests/gpu/archive/rules.mk

# The programs that bench/gpu/run.sh runs there.
gpu-bench: $(BUILD)/gpu/ring $(BUILD)/gpu/libringkernels.so $(BUILD)/gpu/probe gpu-test \
    $(BUILD)/gpu/proxy.test $(BUILD)/gpu/wait.test $(BUILD)/gpu/rings

include bench/gpu/rules.mk

# The cost of the proxy itself: Go's benchmarks, and threads of the host through the library.
$(BUILD)/gpu/proxy.test: $(GO_SRC) $(wildcard queue/*.go queue/queuetest/*.go)
	CGO_ENABLED=1 CC="$(CC)" $(GO) test -c -ldflags=-s -o $@ ./runtime/proxy
$(BUILD)/gpu/wait.test: $(GO_SRC)
	CGO_ENABLED=1 CC="$(CC)" $(GO) test -c -ldflags=-s -o $@ ./runtime/proxy/wait
$(BUILD)/gpu/rings: bench/rings.c $(HEADERS_OWN) $(DEVICE_HEADERS) $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_C) -O2 -pthread -Iinclude -Idevice -o $@ $< -L$(BUILD)/lib -lshmem

$(BUILD)/gpu/ring: $(GO_SRC) $(wildcard queue/*.go bench/ring/*.go bench/ring/*.[ch]) $(DEVICE_HEADERS)
	@mkdir -p $(@D)
	CGO_ENABLED=1 CC="$(CC)" $(GO) build -ldflags=-s -o $@ ./bench/ring

$(BUILD)/gpu/libringkernels.so: bench/gpu/kernels.cu $(wildcard bench/ring/*.h) $(DEVICE_HEADERS) Makefile
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static -shared -Xcompiler -fPIC -gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH) \
	    -gencode arch=compute_$(GPU_ARCH),code=compute_$(GPU_ARCH) -o $@ $<

# The benchmarks of the machine's limits. They are exempt from the warnings of the project's own
# code.
$(BUILD)/gpu/probe: bench/gpu/probe.cu Makefile
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O3 -ccbin $(CC) -cudart static -gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH) \
	    -gencode arch=compute_$(GPU_ARCH),code=compute_$(GPU_ARCH) -o $@ $< -lpthread

# The other benchmarks, which run on this machine, without debug information.
$(GPU_COPIES): $(GPU)/%: $(BUILD)/%
	@mkdir -p $(@D)
	strip -g -o $@ $<

# ------------------------------------------------------------------ install

include scripts/install/rules.mk
include packaging/rules.mk
