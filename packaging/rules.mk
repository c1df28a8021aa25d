# rules.mk: packages for systems that are older than this one, or have another processor. The Makefile
# includes it.

# The time of all files in packages: that of the commit.
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),1577836800)

# What others wrote and the files contain.
PARTS = $(GO_FOR) GO="$(GO)" CC="$(CC)" packaging/parts.py $(1) $(NVTX:%=--nvtx %) $(ZIG:%=--zig %)
$(BUILD)/third-party.txt: packaging/parts.py VERSION go.mod go.sum
	@mkdir -p $(@D)
	@$(call PARTS,notices) > $@

# GLIBC is the oldest release of glibc on which the result is to run, and MACHINE the processor.
# Compiler and linker come from PyPI, with headers and symbol versions of that release, and leave
# debug information out, and the symbol tables of commands, which Go's stacks do without. A build of this kind has a folder of its own.
OLD_ZIG  = $(abspath $(shell BUILD=$(BUILD) scripts/setup --tool zig))
OLD_CC   = $(CURDIR)/packaging/cc $(OLD_ZIG) $(1)-linux-gnu.$(GLIBC)
OLD_MAKE = $(MAKE) --no-print-directory GLIBC= MACHINE=$(1) BASE=$(BUILD) BUILD=$(BUILD)/glibc-$(GLIBC)-$(1) CC="$(OLD_CC)" ZIG=$(OLD_ZIG) STRIP=: GO_STRIP=-ldflags=-s NEWEST=$(GLIBC)

# The commands of another processor do not run here, so those of this one describe themselves.
.PHONY: old-wheel
old-wheel: $(KERNEL_FILE)
	@BUILD=$(BUILD) scripts/setup sysroot
	+@$(call OLD_MAKE,$(HOST)) -s $(BUILD)/glibc-$(GLIBC)-$(HOST)/commands/made
	+@$(call OLD_MAKE,$(MACHINE)) -s COMMANDS=$(BUILD)/glibc-$(GLIBC)-$(HOST)/commands wheel
