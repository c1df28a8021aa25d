# rules.mk: how libnvshmem_device.bc is built, the functions for kernels that Triton and CuTe link.
# The Makefile includes it.

# The distribution's clang, without CUDA.
ifeq ($(origin BITCODE_CLANG),undefined)
BITCODE_CLANG := $(shell scripts/bitcode-clang)
endif
BITCODE_FLAGS := -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 -Xclang -target-feature -Xclang +ptx63 \
    -Xclang -fnative-half-type -Xclang -fnative-half-arguments-and-returns -std=c++17 -Wall -Wextra -Werror \
    -Wno-unused-function -Wno-unused-parameter -Wno-unknown-cuda-version -fno-strict-aliasing \
    -Idevice/bitcode -Idevice -Iinclude -I$(GEN)/nvshmem/bitcode
# What optimises is the compiler that links the file, and only what a kernel calls.
BITCODE_PASSES := -O2 -Xclang -disable-llvm-passes -emit-llvm

BITCODE      := libnvshmem_device.bc
BITCODE_FILE := $(BUILD)/lib/$(BITCODE)
BITCODE_TEXT := $(BUILD)/obj/bitcode/nvshmem.ll
# Else what set-up installs.
CLANG_FOUND  := $(or $(BITCODE_CLANG),clang-19)
# One file serves all GPUs. Programs may look for that of theirs.
BITCODE_ARCHS := 75 80 86 87 89 90 100 103 110 120 121
BITCODE_LINKS := $(BITCODE_ARCHS:%=libnvshmem_device_sm_%.bc)

# make wheel makes it everywhere: set-up gets a clang where there is none.
BITCODE_OF_BUILD := $(if $(filter no,$(NVSHMEM)),,$(if $(BITCODE_CLANG)$(wildcard $(BITCODE_FILE)),$(BITCODE_FILE),without-bitcode))

.PHONY: without-bitcode
without-bitcode:
	@echo "build: without $(BITCODE), which kernels of Triton and CuTe call: there is no clang 16 to 19 (apt-get install clang-19, or set BITCODE_CLANG)"

# Compilers refuse to link modules whose flags differ: clang's says that denormals are not flushed,
# and Triton's that they are. No flag is needed. The host finds two variables by their names: compilers
# keep what is in llvm.used also where they make everything else internal. libNVVM, which CuTe uses,
# refuses functions with an alignment, as methods of C++ have.
ifneq ($(BASE),$(BUILD))
$(BITCODE_FILE): $(BASE)/lib/$(BITCODE)
	@mkdir -p $(@D)
	cp $< $@
else
$(BITCODE_FILE): $(wildcard device/bitcode/*) $(DEVICE_HEADERS) $(HEADERS) $(GEN)/made
	@mkdir -p $(@D) $(BUILD)/obj/bitcode
	$(if $(BITCODE_CLANG),,@BUILD=$(BUILD) scripts/setup bitcode)
	@[ -n "$$(BITCODE_CLANG=$(CLANG_FOUND) scripts/bitcode-clang)" ] || \
	    { echo "build: BITCODE_CLANG=$(CLANG_FOUND) is not a clang 16 to 19 (set it to one, or leave it out)" >&2; exit 1; }
	$(CLANG_FOUND) $(BITCODE_FLAGS) $(BITCODE_PASSES) -S -o $(BITCODE_TEXT) device/bitcode/nvshmem.cu
	sed -i '/^!llvm\.module\.flags = /d; s/^@llvm\.compiler\.used = /@llvm.used = /; /^define /s/ align 2 {$$/ {/' $(BITCODE_TEXT)
	$(CLANG_FOUND) --target=nvptx64-nvidia-cuda -x ir $(BITCODE_PASSES) -c -o $@ $(BITCODE_TEXT)
endif

# For python/tests/gpu_machine.py, on a machine with a GPU.
gpu-test: $(GPU)/lib/$(NVSHMEM_OLD) $(BITCODE_OF_BUILD:$(BUILD)/%=$(GPU)/%)
$(GPU)/lib/$(BITCODE) $(GPU)/lib/$(NVSHMEM_OLD): $(GPU)/%: $(BUILD)/%
	@mkdir -p $(@D)
	cp $< $@
