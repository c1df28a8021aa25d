# The programs of bench/gpu/run.sh for figures of kernels: each program twice, for libshmem and for
# NVSHMEM, whose device library is linked in, which takes -rdc.

FIGURES         := bandwidth latency signal burst atomic barrier alltoall stream host
NVSHMEM_FIGURES := $(FIGURES:%=$(BUILD)/gpu/nvshmem/%)
SHMEM_FIGURES   := $(FIGURES:%=$(BUILD)/gpu/figures/%)
FIGURE_HEADERS  := $(wildcard bench/gpu/*.h bench/gpu/*.cuh)
FIGURE_ARCH     := -gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH)

LIMITS          := $(BUILD)/gpu/probe $(BUILD)/gpu/copyloop $(BUILD)/gpu/context $(BUILD)/gpu/gather $(BUILD)/gpu/bin/fi_pingpong

gpu-bench: $(NVSHMEM_FIGURES) $(SHMEM_FIGURES) $(LIMITS)

.PHONY: gpu-figures
gpu-figures: $(SHMEM_FIGURES) $(LIMITS)

.PHONY: gpu-figures-nvshmem
gpu-figures-nvshmem: $(NVSHMEM_FIGURES) $(LIMITS)

$(BUILD)/gpu/copyloop $(BUILD)/gpu/context $(BUILD)/gpu/gather: $(BUILD)/gpu/%: bench/gpu/%.cu $(FIGURE_HEADERS) bench/gpu/rules.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static $(FIGURE_ARCH) -o $@ $< -lpthread

# The machine with the GPUs may have libfabric's library without its programs.
$(BUILD)/gpu/bin/fi_pingpong:
	@mkdir -p $(@D)
	cp "$$(command -v fi_pingpong)" $@

$(SHMEM_FIGURES): $(BUILD)/gpu/figures/%: bench/gpu/%.cu $(FIGURE_HEADERS) $(DEVICE_HEADERS) $(HEADERS) \
    $(BUILD)/lib/libshmem.so bench/gpu/rules.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -cudart static $(FIGURE_ARCH) -o $@ $< -L$(BUILD)/lib -lshmem

# Exempt from the warnings of the project's own code: NVSHMEM's headers cause some.
$(NVSHMEM_FIGURES): $(BUILD)/gpu/nvshmem/%: bench/gpu/%.cu $(FIGURE_HEADERS) bench/gpu/rules.mk
	@mkdir -p $(@D)
	at=$$(BUILD=$(BUILD) scripts/fetch_nvshmem.sh 3.4.5) && \
	$(NVCC) -std=c++17 -O3 -ccbin $(CC) -w -rdc=true -DBENCH_NVSHMEM -I$$at/include -cudart static $(FIGURE_ARCH) \
	    -o $@ $< -L$$at/lib -lnvshmem_device -l:libnvshmem_host.so.3
