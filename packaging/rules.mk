# rules.mk: packages for systems that are older than this one, or have another processor, and all
# files of a release. The Makefile includes it.

# The time of all files in packages, in seconds since 1970: that of the commit. Without git it is
# any constant, the start of 2020 (UTC), so that the same files make the same packages.
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),1577836800)

# What others wrote and the files contain.
PARTS = $(GO_FOR) GO="$(GO)" CC="$(CC)" packaging/parts.py $(1) $(NVTX:%=--nvtx %) $(ZIG:%=--zig %)
$(BUILD)/third-party.txt: packaging/parts.py VERSION go.mod go.sum
	@mkdir -p $(@D)
	@$(call PARTS,notices) > $@

# GLIBC is the oldest release of glibc on which the result is to run, and MACHINE the processor.
# Compiler and linker come from PyPI, with headers and symbol versions of that release, and leave
# debug information out, and the symbol tables of commands, which Go's stacks do without. A build of
# this kind has a folder of its own. It names neither its commit nor its paths: a source archive
# makes the same files in another folder.
OLD_ZIG  = $(abspath $(shell BUILD=$(BUILD) scripts/setup --tool zig))
OLD_CC   = $(CURDIR)/packaging/cc $(OLD_ZIG) $(1)-linux-gnu.$(GLIBC)
OLD_MAKE = GOFLAGS="-buildvcs=false $(GOFLAGS)" $(MAKE) --no-print-directory GLIBC= MACHINE=$(1) BASE=$(BUILD) BUILD=$(BUILD)/glibc-$(GLIBC)-$(1) CC="$(OLD_CC)" ZIG=$(OLD_ZIG) STRIP=: GO_LDFLAGS=-buildid= GO_STRIP=-s NEWEST=$(GLIBC)

# The commands of another processor do not run here, so those of this one describe themselves.
.PHONY: old-wheel
old-wheel: $(KERNEL_FILE) $(BITCODE_FILE)
	@BUILD=$(BUILD) scripts/setup sysroot
	+@$(call OLD_MAKE,$(HOST)) -s $(BUILD)/glibc-$(GLIBC)-$(HOST)/commands/made
	+@$(call OLD_MAKE,$(MACHINE)) -s COMMANDS=$(BUILD)/glibc-$(GLIBC)-$(HOST)/commands wheel

##@ Release
# All files of a release, in one folder. The packages of Debian have the files of the wheel.
RELEASE       := $(DIST)/libshmem-$(VERSION)
RELEASE_GLIBC := 2.28
RELEASE_BUILD := $(BUILD)/glibc-$(RELEASE_GLIBC)-$(HOST)
# The first name of the project's commits stands in the packages.
MAINTAINER = $(shell git log -1 --format='%an <%ae>' 2>/dev/null)
OF_RELEASE = $(MAKE) --no-print-directory -s GLIBC=$(RELEASE_GLIBC) SOURCE_DATE_EPOCH=$(EPOCH)

.PHONY: release
release: $(KERNEL_FILE) $(BITCODE_FILE) ## wheels, packages of Debian, source with Go modules, bill of materials, checksums
	@$(if $(filter yes,$(CHANGED)),,packaging/release.py tree)
	rm -rf "$(RELEASE)" $(BUILD)/release
	+@$(OF_RELEASE) wheel DIST="$(RELEASE)"
	+@$(OF_RELEASE) wheel DIST=$(BUILD)/release MACHINE=aarch64
	mv $(BUILD)/release/*.whl "$(RELEASE)"
	SOURCE_DATE_EPOCH=$(EPOCH) packaging/deb.py $(abspath $(RELEASE_BUILD))/wheel "$(RELEASE)" --machine $(HOST) \
	    --glibc $(RELEASE_GLIBC) --notices $(RELEASE_BUILD)/third-party.txt --maintainer "$(MAINTAINER)"
	$(if $(wildcard vendor/modules.txt),cp -R vendor $(BUILD)/release/vendor,GOFLAGS= $(GO) mod vendor -o $(abspath $(BUILD))/release/vendor)
	packaging/release.py source "$(RELEASE)/libshmem-$(VERSION).tar.gz" --epoch $(EPOCH) --vendor $(BUILD)/release/vendor
	$(call PARTS,sbom --epoch $(EPOCH)) --zig $(OLD_ZIG) > "$(RELEASE)/libshmem-$(VERSION).cdx.json"
	packaging/release.py sums "$(RELEASE)"
