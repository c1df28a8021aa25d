# The rules for device code. They are in a file of their own because all device code depends on this
# file, and compiling it takes minutes.

# Kernels that exist to be compiled: tests/device compares their PTX with the promises in their
# comments. The assembler accepts each of them, too: it gets that PTX, because the compiler would
# take as long again for the same text, and writes the registers of each beside the code. To look at
# one kernel:
#   make build/device/NAME.sm_90.ptx
CUDA_ARCHS ?= 75 80 90 100 120
PTX_TESTS  := $(sort $(notdir $(basename $(wildcard tests/device/*.cu))))

# The compiler that set-up has installed, else that of CUDA_HOME, else one in PATH. Only the recipes
# that need it look for it.
NVCC_GIVEN := $(filter-out undefined,$(origin NVCC))
NVCC ?= $(or $(wildcard $(shell BUILD=$(BASE) scripts/setup --tool nvcc)),$(and $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)),nvcc)
NVCCFLAGS := -std=c++17 -O3 -ccbin $(CC) -Werror all-warnings -Xcompiler -Wall,-Wextra -Idevice -Iinclude

# The headers of device code lie in a folder of their own here, and beside the other headers once
# they are installed.
DEVICE_HEADERS := $(sort $(shell find device/shmem -type f -name '*.h' -o -type f -name '*.cuh' 2>/dev/null))

# The library's own kernels, for calls on streams and the operators of shmem.torch. They take
# minutes of a processor, so make build makes them only where there is a compiler or a GPU, or an
# earlier build has made them, or KERNELS=yes asks for them. make install and make wheel make them
# everywhere: set-up gets the compiler where there is none. KERNELS=no builds and installs the library
# without them; the calls that need them then fail with that reason. Compressed for size they are a
# seventh.
KERNEL_SRC  := device/kernels/kernels.cu
KERNEL_DEPS := $(KERNEL_SRC) $(wildcard device/kernels/*.h) $(DEVICE_HEADERS) device/rules.mk
KERNEL_FILE := $(BUILD)/lib/libshmem_kernels.fatbin

# A driver's files: of a machine, and of Windows' subsystem for Linux.
CUDA_FOUND = $(or $(NVCC_GIVEN),$(shell command -v "$(NVCC)"),$(wildcard /dev/nvidiactl /dev/dxg $(KERNEL_FILE)))
ifeq ($(origin KERNELS),undefined)
KERNELS_OF_BUILD   := $(if $(CUDA_FOUND),$(KERNEL_FILE),without-kernels)
KERNELS_OF_INSTALL := $(KERNEL_FILE)
else ifeq ($(KERNELS),yes)
KERNELS_OF_BUILD   := $(KERNEL_FILE)
KERNELS_OF_INSTALL := $(KERNEL_FILE)
else ifeq ($(KERNELS),no)
KERNELS_OF_BUILD   := no-kernels
KERNELS_OF_INSTALL := no-kernels
else
$(error KERNELS=$(KERNELS): set it to yes or no)
endif

.PHONY: without-kernels
without-kernels:
	@echo "build: without the library's own kernels, which calls on CUDA streams need: there is no nvcc and no GPU (KERNELS=yes builds them, and so does make install)"

# make test compiles for fewer architectures; an installed library has all, and the newest as PTX,
# too, for GPUs to come. Each takes 27 s of a processor; KERNEL_PTX=1 leaves the assembler's part out.
KERNEL_ARCHS ?= $(CUDA_ARCHS)
ARCHS_OF := $(BUILD)/obj/archs$(subst $() ,,$(KERNEL_ARCHS:%=-%))$(KERNEL_PTX:%=-ptx)
$(ARCHS_OF):
	@mkdir -p $(@D)
	@rm -f $(BUILD)/obj/archs-*
	@touch $@

ifneq ($(BASE),$(BUILD))
$(KERNEL_FILE): $(BASE)/lib/libshmem_kernels.fatbin
	@mkdir -p $(@D)
	cp $< $@
else
$(KERNEL_FILE): $(KERNEL_DEPS) $(ARCHS_OF)
	@mkdir -p $(@D)
	@nvcc="$(NVCC)"; \
	if ! command -v "$$nvcc" >/dev/null; then \
	    [ -z "$(NVCC_GIVEN)" ] || { echo "build: NVCC=$$nvcc is not there (set NVCC to CUDA's compiler, or leave it out)" >&2; exit 1; }; \
	    BUILD=$(BUILD) scripts/setup kernels && nvcc=$$(BUILD=$(BUILD) scripts/setup --tool nvcc) || exit; \
	fi; \
	scripts/step "kernels: compiling with $$nvcc for $(KERNEL_ARCHS:%=sm_%), some $(if $(KERNEL_PTX),10,$$(($(words $(KERNEL_ARCHS)) * 27))) s of a processor in all" \
	    "$$nvcc" $(NVCCFLAGS) -t 0 --compress-mode=size $(if $(KERNEL_PTX),,$(foreach a,$(KERNEL_ARCHS),-gencode arch=compute_$(a),code=sm_$(a))) \
	    -gencode arch=compute_$(lastword $(KERNEL_ARCHS)),code=compute_$(lastword $(KERNEL_ARCHS)) -fatbin -o $@ $<
endif

# Libraries built without the kernels must not find a file of an earlier build.
.PHONY: no-kernels
no-kernels:
	@rm -f $(KERNEL_FILE)

# Programs for a machine with a GPU. They need the assembler's work, which is three quarters of the
# time; GPU_PTX=1 leaves it out, in a folder of its own, to check only that everything compiles.
# Kernels that are not run need not be fast. The host's part needs -O3: without it unreachable calls
# of the driver stay in the code and do not link.
GPU      := $(BUILD)/gpu$(if $(GPU_PTX),-ptx)
GPU_ARCH := 90
ifneq ($(GPU_PTX),)
NVCCFLAGS += -Ofc max
endif
GPU_CODE  = $(if $(GPU_PTX),,-gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH)) \
            -gencode arch=compute_$(GPU_ARCH),code=compute_$(GPU_ARCH)

# The same options for the architectures that are tested.
$(GPU)/lib/libshmem_kernels.fatbin: $(KERNEL_DEPS)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) --compress-mode=size $(GPU_CODE) -fatbin -o $@ $<

.PHONY: kernels
kernels: $(foreach k,$(PTX_TESTS),$(CUDA_ARCHS:%=$(BUILD)/device/$(k).sm_%.cubin))

define ptx_rule
# The file may be shared with another tree (tests/seeded): nvcc would write into both.
$(BUILD)/device/%.sm_$(1).ptx: tests/device/%.cu $(DEVICE_HEADERS) device/rules.mk
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(NVCC) $(NVCCFLAGS) -arch=compute_$(1) -ptx -o $$@ $$<

$(BUILD)/device/%.sm_$(1).cubin: $(BUILD)/device/%.sm_$(1).ptx
	@rm -f $$@ $$@.txt
	$$(NVCC) -Werror all-warnings -arch=sm_$(1) -cubin -Xptxas -v -o $$@ $$< >$$@.txt 2>&1 || { cat $$@.txt >&2; false; }
endef
$(foreach a,$(CUDA_ARCHS),$(eval $(call ptx_rule,$(a))))

# make would remove them as files between the kernels and their code.
.SECONDARY: $(foreach k,$(PTX_TESTS),$(CUDA_ARCHS:%=$(BUILD)/device/$(k).sm_%.ptx))

# The files that tests/gpu/run.sh runs on a machine with a GPU, in one folder that can be copied
# there: that machine needs no compiler, and of CUDA only the driver. The code is for the GPUs that
# are tested, with PTX for newer ones.
GPU_PROGRAMS := $(sort $(notdir $(basename $(wildcard tests/gpu/*.cu))))
# The programs that call each name, built once more with NVSHMEM's names.
GPU_NAMES    := atomics colls rma singles strided waits
GPU_EXAMPLES := $(sort $(notdir $(basename $(filter-out %/mpi.cu,$(wildcard examples/nvshmem/*.cu)))))
GPU_DEEPEP   := $(GPU)/examples/dispatch $(GPU)/examples/settle.fatbin
GPU_RING     := $(GPU)/examples/ring
# Where Open MPI is installed, its compiler wrapper gives a program's flags.
MPICC        := $(shell command -v mpicc.openmpi)
GPU_MPI      := $(if $(MPICC),$(GPU)/examples/mpi)
GPU_COMMANDS := $(sort $(patsubst tests/gpu/%/main.go,%,$(wildcard tests/gpu/*/main.go)))
GPU_COPIES   := $(addprefix $(GPU)/,bin/shmemrun bin/shmem-info lib/libshmem.so lib/libshmem_core.so lib/$(NVSHMEM_NAME) \
                $(CTESTS:%=tests/%))

# run.sh reads the names of the C programs and of the functions that kernels call: the machine with
# the GPU has no sources of the generated programs.
gpu-test: $(GPU_COPIES) $(GPU)/lib/libshmem_kernels.fatbin $(GPU)/cuda/module.fatbin $(GPU)/cuda/settle.fatbin $(GPU_PROGRAMS:%=$(GPU)/cuda/%) $(GPU_NAMES:%=$(GPU)/cuda/nvshmem-%) $(GPU)/cuda/nvshmem-scatter $(GPU_EXAMPLES:%=$(GPU)/examples/%) $(GPU_DEEPEP) $(GPU_RING) $(GPU_MPI) $(GPU_COMMANDS:%=$(GPU)/go/%)
	@printf '%s\n' $(CTESTS) >$(GPU)/programs
	@cp $(GEN)/gpu/zz_names.txt $(GPU)/names-shmem
	@cp $(GEN)/nvshmem/gpu/zz_names.txt $(GPU)/names-nvshmem

$(GPU)/cuda/%: tests/gpu/%.cu $(wildcard tests/gpu/*.h) $(GEN)/gpu/zz_functions.h $(DEVICE_HEADERS) $(HEADERS) device/rules.mk | $(BUILD)/lib/libshmem.so $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -I$(GEN)/gpu -cudart static $(GPU_CODE) -o $@ $< \
	    -Xlinker --as-needed -L$(BUILD)/lib -lnvshmem_host -lshmem -lpthread

$(foreach p,nvshmem tiles,$(GPU)/cuda/$(p) $(GPU)/cuda/$(p).ptx): NVCCFLAGS += -Iinclude/nvshmem

GPU_NAMES_DEPS := $(wildcard tests/gpu/*.h) $(GEN)/nvshmem/gpu/zz_functions.h $(DEVICE_HEADERS) $(HEADERS) device/rules.mk

$(GPU_NAMES:%=$(GPU)/cuda/nvshmem-%) $(GPU)/cuda/nvshmem-scatter: NVCCFLAGS += -DNVSHMEM_NAMES -Iinclude/nvshmem -I$(GEN)/nvshmem/gpu
$(GPU_NAMES:%=$(GPU)/cuda/nvshmem-%): $(GPU)/cuda/nvshmem-%: tests/gpu/%.cu $(GPU_NAMES_DEPS) | $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static $(GPU_CODE) -o $@ $< -L$(BUILD)/lib -lnvshmem_host -lpthread

# In two parts, for the assembler (parts.h).
$(GPU)/cuda/nvshmem-colls: NVCCFLAGS += -DNO_SCATTER
$(GPU)/cuda/nvshmem-scatter: NVCCFLAGS += -DSCATTER_ONLY
$(GPU)/cuda/nvshmem-scatter: tests/gpu/colls.cu $(GPU_NAMES_DEPS) | $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static $(GPU_CODE) -o $@ $< -L$(BUILD)/lib -lnvshmem_host -lpthread

$(GPU)/examples/%: examples/nvshmem/%.cu $(wildcard examples/nvshmem/*.h) $(DEVICE_HEADERS) $(HEADERS) device/rules.mk | $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -Iinclude/nvshmem -cudart static $(GPU_CODE) -o $@ $< -L$(BUILD)/lib -lnvshmem_host

DEEPEP_DEPS := $(wildcard examples/deepep/*.cuh) examples/nvshmem/check.h $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
$(GPU)/examples/dispatch: examples/deepep/dispatch.cu $(DEEPEP_DEPS) | $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -Iinclude/nvshmem -cudart static $(GPU_CODE) -o $@ $< -L$(BUILD)/lib -lnvshmem_host

$(GPU)/examples/settle.fatbin: examples/deepep/settle.cu $(DEEPEP_DEPS)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -Iinclude/nvshmem $(GPU_CODE) -fatbin -o $@ $<

$(GPU)/cuda/settle.fatbin: tests/gpu/code/settle.cu $(DEEPEP_DEPS)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -Iexamples/deepep -Iinclude/nvshmem $(GPU_CODE) -fatbin -o $@ $<

$(GPU)/examples/ring: examples/ring/ring.cu $(DEVICE_HEADERS) $(HEADERS) device/rules.mk | $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static $(GPU_CODE) -o $@ $< -L$(BUILD)/lib -lshmem -lpthread

MPI_DEPS := examples/nvshmem/mpi.cu $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
$(GPU)/examples/mpi: $(MPI_DEPS) | $(BUILD)/lib/libnvshmem_host.so
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -Iinclude/nvshmem $$($(MPICC) --showme:compile) -cudart static $(GPU_CODE) -o $@ $< \
	    -L$(BUILD)/lib -lnvshmem_host $$($(MPICC) --showme:link)

# For architectures that are not tested; the program tests exactly that.
$(GPU)/cuda/foreign $(GPU)/cuda/foreign.ptx: GPU_ARCH := 120

# Each of them compiled up to PTX. nvcc reads the host's part as well; leaving out the host's
# compiler and the linker saves two thirds of the time, so only two programs run them here. Of the
# remaining time two thirds went to the headers, which most programs now read once for all
# (scripts/together). Some have headers or an architecture of their own.
GPU_LINKED := facts launch
GPU_ALONE := foreign tiles visible
GPU_TRIED := $(notdir $(basename $(shell grep -l '"try.h"' tests/gpu/*.cu)))
GPU_OWN   := $(filter-out $(GPU_ALONE) $(GPU_LINKED) $(GPU_TRIED) nvshmem,$(GPU_PROGRAMS))
TOGETHER  := $(GPU)/cuda/own.ptx $(GPU)/cuda/tried.ptx $(GPU)/cuda/nvshmem-tried.ptx $(GPU)/examples/together.ptx
.PHONY: gpu-ptx
gpu-ptx: $(TOGETHER) $(GPU_ALONE:%=$(GPU)/cuda/%.ptx) $(GPU)/examples/settle.fatbin $(GPU)/examples/ring.ptx $(GPU)/cuda/module.fatbin $(GPU_LINKED:%=$(GPU)/cuda/%)

$(GPU)/cuda/own.ptx: $(GPU_OWN:%=tests/gpu/%.cu)
$(GPU)/cuda/tried.ptx: $(GPU_TRIED:%=tests/gpu/%.cu)
$(GPU)/cuda/own.ptx $(GPU)/cuda/tried.ptx: NVCCFLAGS += -I$(GEN)/gpu
# One type of each kind and size; the programs for a machine with a GPU have all types.
$(GPU)/cuda/tried.ptx $(GPU)/cuda/nvshmem-tried.ptx: NVCCFLAGS += -DFEWER_TYPES
$(GPU)/cuda/nvshmem-tried.ptx: $(GPU_NAMES:%=tests/gpu/%.cu) $(GEN)/nvshmem/gpu/zz_functions.h
$(GPU)/cuda/nvshmem-tried.ptx: NVCCFLAGS += -DNVSHMEM_NAMES -Iinclude/nvshmem -I$(GEN)/nvshmem/gpu
$(GPU)/examples/together.ptx: $(GPU_EXAMPLES:%=examples/nvshmem/%.cu) $(GPU_MPI:%=examples/nvshmem/mpi.cu) examples/deepep/dispatch.cu \
    tests/gpu/nvshmem.cu $(wildcard examples/nvshmem/*.h examples/deepep/*.cuh)
$(GPU)/examples/together.ptx: NVCCFLAGS += -Iexamples/nvshmem -Iexamples/deepep -Iinclude/nvshmem $(GPU_MPI:%=$$($(MPICC) --showme:compile))

$(TOGETHER): scripts/together $(wildcard tests/gpu/*.h) $(GEN)/gpu/zz_functions.h $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
	@mkdir -p $(@D)
	@scripts/together $(filter %.cu,$^) >$(basename $@).cu
	$(NVCC) $(NVCCFLAGS) -Itests/gpu -arch=compute_$(GPU_ARCH) -ptx -o $@ $(basename $@).cu

$(GPU_ALONE:%=$(GPU)/cuda/%.ptx): $(GPU)/cuda/%.ptx: tests/gpu/%.cu $(wildcard tests/gpu/*.h) $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -arch=compute_$(GPU_ARCH) -ptx -o $@ $<

$(GPU)/examples/ring.ptx: examples/ring/ring.cu $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -arch=compute_$(GPU_ARCH) -ptx -o $@ $<

# Every collective in every type, three times: the assembler takes seven minutes to optimise that,
# and the program only checks results. Without the assembler (GPU_PTX) its options are refused.
$(foreach p,colls rma,$(GPU)/cuda/$(p) $(GPU)/cuda/nvshmem-$(p)) $(GPU)/cuda/nvshmem-scatter: NVCCFLAGS += $(if $(GPU_PTX),,-Xptxas -O1)

# Modules that programs load while they run.
$(GPU)/cuda/%.fatbin: tests/gpu/code/%.cu $(DEVICE_HEADERS) $(HEADERS) device/rules.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(GPU_CODE) -fatbin -o $@ $<

$(GPU_COMMANDS:%=$(GPU)/go/%): $(GPU)/go/%: $(GO_SRC) $(wildcard tests/gpu/*/*.go)
	@mkdir -p $(@D)
	CGO_ENABLED=1 CC="$(CC)" $(GO) build -ldflags=-s -o $@ ./tests/gpu/$*
