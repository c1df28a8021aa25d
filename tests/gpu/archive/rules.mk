# A program that is built with NVIDIA's headers and device archive, for each release whose device
# code the library serves. tests/gpu/run.sh runs it on this library where it is there.

ARCHIVE          := $(BUILD)/gpu/archive
ARCHIVE_RELEASES := 3.4.5
ARCHIVE_PROGRAMS := $(ARCHIVE_RELEASES:%=$(ARCHIVE)/rows-%)

.PHONY: gpu-archive
gpu-archive: $(ARCHIVE_PROGRAMS) $(ARCHIVE)/lib ## build what tests/gpu/run.sh runs with NVIDIA's device archive; ARCHIVE_RELEASES says of which releases

# The libraries that such a program loads, beside each other.
$(ARCHIVE)/lib: $(BUILD)/lib/$(NVSHMEM_OLD) $(BUILD)/lib/$(NVSHMEM_NAME) $(BUILD)/lib/libshmem.so $(BUILD)/lib/libshmem_core.so $(GPU)/lib/libshmem_kernels.fatbin
	@mkdir -p $@
	for file in $^; do strip -g -o $@/$${file##*/} $$file 2>/dev/null || cp $$file $@; done
	@touch $@

# Exempt from the warnings of the project's own code: NVSHMEM's headers cause some.
$(ARCHIVE)/rows-%: tests/gpu/archive/rows.cu tests/gpu/archive/rules.mk | $(BUILD)/lib/$(NVSHMEM_OLD)
	@mkdir -p $(@D)
	at=$$(BUILD=$(BUILD) scripts/fetch_nvshmem.sh $*) && $(NVCC) -std=c++17 -O2 -ccbin $(CC) -w -rdc=true -I$$at/include \
	    -cudart static -Xlinker -s -gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH) -o $@ $< \
	    -L$$at/lib -lnvshmem_device -L$(BUILD)/lib -l:$(NVSHMEM_OLD) -Xlinker -rpath-link,$(BUILD)/lib
