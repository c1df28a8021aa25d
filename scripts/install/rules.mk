# rules.mk: what make install copies, and make uninstall and make wheel.

##@ Install
# DESTDIR and PREFIX may contain spaces: recipes quote P, and no function of make splits it.
P := $(DESTDIR)$(PREFIX)
# The compiler's wrapper under its names; the launcher and the information program under the names
# of other implementations.
WRAPPERS := oshcc oshc++ oshcxx oshCC
# What debuggers of programs read.
DEBUGGING := libshmem.gdb valgrind.supp
# The source files of examples, and a Makefile that builds them with the installation.
EXAMPLE_FILES := $(sort examples/Makefile $(shell find examples -type f -regex '.*\.\(c\|h\|cc\|cu\|cuh\|py\|txt\|md\|yaml\)'))
EXAMPLES_OWN  := $(filter-out examples/nvshmem/%,$(EXAMPLE_FILES))
# The pages, but for those that only the authors of the library need.
PAGES := README.md CHANGELOG.md LICENSE $(sort $(filter-out docs/style.md docs/decisions/% docs/site/%,$(shell find docs -type f)))
# The manual pages of commands and of their other names, and their completion.
described = $(foreach c,$(1) $(2),share/man/man1/$(c).1 share/bash-completion/completions/$(c)) $(1:%=share/zsh/site-functions/_%)
# Sources of the program that shmem-perf starts, for other libraries of OpenSHMEM, and tables of what
# to expect.
PERF := bin/shmem-perf libexec/shmem/perf $(PERF_SRC:cmd/shmem-perf/%=share/libshmem/perf/%) $(PERF_TABLES:cmd/shmem-perf/tables/%=share/libshmem/perf/%)
INSTALLED := $(CMDS:%=bin/%) $(PERF) $(HEADERS_OWN) $(DEVICE_HEADERS:device/%=include/%) lib/libshmem.so lib/libshmem_core.so lib/libshmem_preload.so lib/libshmem_rma.so lib/libshmem_kernels.fatbin \
             $(WRAPPERS:%=bin/%) bin/oshrun bin/oshmem_info lib/pkgconfig/shmem.pc \
             lib/cmake/shmem/shmem-config.cmake lib/cmake/shmem/shmem-config-version.cmake $(DEBUGGING:%=share/libshmem/%) \
             $(call described,$(DESCRIBED) oshcc,$(WRAPPERS) oshrun oshmem_info) $(EXAMPLES_OWN:%=share/shmem/%) $(PAGES:%=share/doc/libshmem/%)
# The files for NVSHMEM programs. Links make share/nvshmem a NVSHMEM_HOME.
NVSHMEM_CMDS    := nvshmem-info nvshmrun
BITCODES        := $(BITCODE) $(BITCODE_LINKS)
NVSHMEM_HOME    := share/nvshmem
NVSHMEM_RELEASE := $(shell awk '$$2 ~ /NVSHMEM_VENDOR_(MAJOR|MINOR|PATCH)_VERSION/ {printf "%s%s", dot, $$3; dot = "."}' include/nvshmem/host/nvshmem_api.h)
INSTALLED_NVSHMEM := $(filter include/nvshmem/%,$(HEADERS)) lib/$(NVSHMEM_NAME) lib/$(NVSHMEM_OLD) lib/libnvshmem_host.so $(NVSHMEM_ARCHIVES:%=lib/%) $(BITCODES:%=lib/%) \
                     $(NVSHMEM_CMDS:%=bin/%) lib/pkgconfig/nvshmem.pc lib/cmake/nvshmem/nvshmem-config.cmake \
                     lib/cmake/nvshmem/nvshmem-config-version.cmake $(call described,$(NVSHMEM_CMDS),) \
                     $(patsubst %,share/shmem/%,$(filter examples/nvshmem/%,$(EXAMPLE_FILES))) $(NVSHMEM_HOME)/include $(NVSHMEM_HOME)/lib $(NVSHMEM_HOME)/bin
# The directories that uninstall removes if they are empty: those of this project, and, unless PREFIX
# is one of SYSTEMS, those that it shares with other packages.
SYSTEMS  := |/usr|/usr/local|
OWN_DIRS := $(shell find include/nvshmem -depth -type d) include/shmem include/mpp lib/cmake/shmem \
            lib/cmake/nvshmem $(NVSHMEM_HOME) share/libshmem/perf/measure share/libshmem/perf share/libshmem libexec/shmem \
            $(patsubst %/,share/shmem/%,$(filter-out examples/,$(sort $(dir $(EXAMPLE_FILES))))) \
            share/shmem/examples/plugins share/shmem/examples share/shmem \
            $(patsubst %/,share/doc/libshmem/%,$(filter-out ./ docs/,$(sort $(dir $(PAGES))))) share/doc/libshmem/docs share/doc/libshmem \
            $(if $(findstring |$(PREFIX)|,$(SYSTEMS)),,share/doc libexec share/man/man1 share/man/man3 share/man/man7 share/man share/bash-completion/completions share/bash-completion share/zsh/site-functions share/zsh share lib/pkgconfig lib/cmake lib include bin)

.PHONY: install
install: $(BUILT) $(KERNELS_OF_INSTALL) $(BITCODE_OF_BUILD) man ## into PREFIX (/usr/local), below DESTDIR
	install -d $(foreach d,$(sort $(dir $(INSTALLED))),"$(P)/$(d)")
	install -m 755 $(CMDS:%=$(BUILD)/bin/%) "$(P)/bin"
	install -m 755 $(BUILD)/lib/libshmem.so $(BUILD)/lib/libshmem_core.so $(BUILD)/lib/libshmem_preload.so $(BUILD)/lib/libshmem_rma.so "$(P)/lib"
	install -m 755 scripts/install/shmem-perf "$(P)/bin"
	install -m 755 $(BUILD)/libexec/shmem/perf "$(P)/libexec/shmem"
	install -m 644 $(PERF_SRC) "$(P)/share/libshmem/perf/measure"
	$(if $(PERF_TABLES),install -m 644 $(PERF_TABLES) "$(P)/share/libshmem/perf")
	$(if $(filter no,$(KERNELS)),rm -f "$(P)/lib/libshmem_kernels.fatbin",install -m 644 $(BUILD)/lib/libshmem_kernels.fatbin "$(P)/lib")
	$(foreach h,$(HEADERS_OWN),install -m 644 $(h) "$(P)/$(h)" &&) :
ifeq ($(NVSHMEM),no)
	rm -f $(foreach f,$(INSTALLED_NVSHMEM),"$(P)/$(f)")
	if [ -d "$(P)/$(NVSHMEM_HOME)" ]; then rmdir "$(P)/$(NVSHMEM_HOME)"; fi
else
	install -d $(foreach d,$(sort $(dir $(INSTALLED_NVSHMEM))),"$(P)/$(d)")
	$(foreach h,$(filter include/%,$(INSTALLED_NVSHMEM)),install -m 644 $(h) "$(P)/$(h)" &&) :
	install -m 755 $(BUILD)/lib/$(NVSHMEM_NAME) $(BUILD)/lib/$(NVSHMEM_OLD) "$(P)/lib"
	ln -sf $(NVSHMEM_NAME) "$(P)/lib/libnvshmem_host.so"
	install -m 644 $(NVSHMEM_ARCHIVES:%=$(BUILD)/lib/%) "$(P)/lib"
	rm -f $(foreach f,$(BITCODES),"$(P)/lib/$(f)")
	$(if $(filter $(BITCODE_FILE),$(BITCODE_OF_BUILD)),install -m 644 $(BITCODE_FILE) "$(P)/lib" && $(foreach f,$(BITCODE_LINKS),ln -s $(BITCODE) "$(P)/lib/$(f)" &&) :)
	install -m 755 $(NVSHMEM_CMDS:%=scripts/install/nvshmem/%) "$(P)/bin"
	install -m 644 scripts/install/nvshmem/nvshmem-config.cmake "$(P)/lib/cmake/nvshmem"
	sed -e 's|@VERSION@|$(NVSHMEM_RELEASE)|' scripts/install/nvshmem/nvshmem-config-version.cmake.in > "$(P)/lib/cmake/nvshmem/nvshmem-config-version.cmake"
	sed -e 's|@VERSION@|$(NVSHMEM_RELEASE)|' scripts/install/nvshmem/nvshmem.pc.in > "$(P)/lib/pkgconfig/nvshmem.pc"
	ln -sfn ../../include/nvshmem "$(P)/$(NVSHMEM_HOME)/include"
	ln -sfn ../../lib "$(P)/$(NVSHMEM_HOME)/lib"
	ln -sfn ../../bin "$(P)/$(NVSHMEM_HOME)/bin"
endif
	$(foreach h,$(DEVICE_HEADERS),install -m 644 $(h) "$(P)/$(h:device/%=include/%)" &&) :
	install -d "$(P)/share/man/man3" "$(P)/share/man/man7"
	install -m 644 $(BUILD)/man/man3/* "$(P)/share/man/man3"
	install -m 644 $(BUILD)/man/man7/* "$(P)/share/man/man7"
	for c in $(DESCRIBED) $(WRAPPERS) oshrun oshmem_info $(if $(filter no,$(NVSHMEM)),,$(NVSHMEM_CMDS)); do \
	    install -m 644 "$(COMMANDS)/man/man1/$$c.1" "$(P)/share/man/man1" && \
	    cp -P "$(COMMANDS)/bash/$$c" "$(P)/share/bash-completion/completions" && \
	    { [ ! -e "$(COMMANDS)/zsh/_$$c" ] || install -m 644 "$(COMMANDS)/zsh/_$$c" "$(P)/share/zsh/site-functions"; } || exit; \
	done
	$(foreach f,$(if $(filter no,$(NVSHMEM)),$(EXAMPLES_OWN),$(EXAMPLE_FILES)),install -m 644 $(f) "$(P)/share/shmem/$(f)" &&) :
	$(foreach f,$(PAGES),install -m 644 $(f) "$(P)/share/doc/libshmem/$(f)" &&) :
	sed -e 's|@VERSION@|$(VERSION)|' scripts/install/oshcc > "$(P)/bin/oshcc"
	chmod 755 "$(P)/bin/oshcc"
	for w in $(filter-out oshcc,$(WRAPPERS)); do ln -sf oshcc "$(P)/bin/$$w"; done
	ln -sf shmemrun "$(P)/bin/oshrun"
	ln -sf shmem-info "$(P)/bin/oshmem_info"
	sed -e 's|@VERSION@|$(VERSION)|' scripts/install/shmem.pc.in > "$(P)/lib/pkgconfig/shmem.pc"
	install -m 644 scripts/install/shmem-config.cmake "$(P)/lib/cmake/shmem"
	install -m 644 $(DEBUGGING:%=scripts/%) "$(P)/share/libshmem"
	sed -e 's|@VERSION@|$(VERSION)|' scripts/install/shmem-config-version.cmake.in > "$(P)/lib/cmake/shmem/shmem-config-version.cmake"

# What packages contain: an installation below this folder. Debug information is two thirds of the
# libraries, and not in it, nor are symbol tables of commands: Go's stacks do without.
STAGE := $(abspath $(BUILD))/wheel
STRIPPED := lib/libshmem.so lib/libshmem_core.so lib/libshmem_preload.so lib/libshmem_rma.so \
            $(if $(filter no,$(NVSHMEM)),,lib/$(NVSHMEM_NAME) lib/$(NVSHMEM_OLD))
.PHONY: stage
stage: $(BUILT) $(KERNEL_FILE) $(if $(filter no,$(NVSHMEM)),,$(BITCODE_FILE))
	rm -rf $(STAGE)
	@$(MAKE) --no-print-directory -s install DESTDIR=$(STAGE) PREFIX=
	$(STRIP) -g $(STRIPPED:%=$(STAGE)/%)
	$(STRIP) -s $(CMDS:%=$(STAGE)/bin/%) $(STAGE)/libexec/shmem/perf

# The package of Python has the files of PREFIX, below its own folder.
.PHONY: wheel
ifeq ($(KERNELS),no)
wheel:
	@echo "wheel: it has the library's own kernels, which its operators for torch need (leave KERNELS=no out)" >&2; exit 1
else ifneq ($(GLIBC),)
wheel: old-wheel
else ifneq ($(MACHINE),$(if $(NEWEST),$(MACHINE),$(HOST)))
wheel:
	@echo "wheel: MACHINE=$(MACHINE) needs the compiler for it (set GLIBC, too, as in GLIBC=2.28)" >&2; exit 1
else
wheel: stage $(BUILD)/third-party.txt ## the package of Python, with the libraries and commands, into dist
	SOURCE_DATE_EPOCH=$(EPOCH) python3 python/wheel.py $(STAGE) "$(DIST)" --notices $(BUILD)/third-party.txt \
	    --machine $(MACHINE) $(NEWEST:%=--glibc %) $(URL:%=--url %)
endif

.PHONY: uninstall
uninstall: man ## remove what install wrote
	rm -f $(foreach f,$(INSTALLED) $(INSTALLED_NVSHMEM),"$(P)/$(f)")
	sed 's|^|$(P)/share/man/|' $(BUILD)/man/list | xargs -d '\n' rm -f
	$(foreach d,$(OWN_DIRS),if [ -d "$(P)/$(d)" ]; then rmdir --ignore-fail-on-non-empty "$(P)/$(d)"; fi;)
	if [ -z "$(findstring |$(PREFIX)|,$(SYSTEMS))" ] && [ -d "$(P)" ]; then rmdir --ignore-fail-on-non-empty "$(P)"; fi
