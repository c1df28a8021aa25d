# The programs that call the names of NVSHMEM's kernels, with NVIDIA's headers and library in place
# of this project's: they compare their expectations with NVIDIA's results. tests/gpu/run.sh runs
# them where they are.

ORACLE          := $(BUILD)/gpu/oracle
ORACLE_VERSION  := 3.8.0
ORACLE_AT        = $$(BUILD=$(BUILD) scripts/fetch_nvshmem.sh $(ORACLE_VERSION))
ORACLE_NAMES    := $(filter-out colls,$(GPU_NAMES))
ORACLE_PROGRAMS := $(addprefix $(ORACLE)/,$(ORACLE_NAMES) colls scatter nvshmem traced)

.PHONY: gpu-oracle
gpu-oracle: $(ORACLE_PROGRAMS) $(ORACLE)/lib $(ORACLE)/libshmem_preload.so ## build what tests/gpu/run.sh runs with NVSHMEM's own library

# The linker's names have no number at their end, and NVSHMEM loads some libraries by those.
$(ORACLE)/lib: scripts/fetch_nvshmem.sh tests/gpu/oracle/rules.mk
	@mkdir -p $@
	at=$(ORACLE_AT) && for name in libnvshmem_host nvshmem_bootstrap_uid; do \
	    strip -o $@/$$name.so.3 "$$at/lib/$$name.so.3" && ln -sf $$name.so.3 $@/$$name.so; done

# All names except the ones that NVSHMEM lacks.
$(ORACLE)/zz_functions.h: $(GEN)/nvshmem/gpu/zz_functions.h tests/gpu/oracle/absent.txt
	@mkdir -p $(@D)
	sed "$$(sed -n 's/^\(nv[a-z0-9_]*\)\t.*/s@ROW(\1, [^)]*)@@/p' tests/gpu/oracle/absent.txt)" $< >$@

ORACLE_DEPS := $(wildcard tests/gpu/*.h tests/gpu/oracle/*) bench/gpu/forked.h $(ORACLE)/zz_functions.h
# Exempt from the warnings of the project's own code: NVSHMEM's headers cause some.
ORACLE_NVCC  = at=$(ORACLE_AT) && $(NVCC) -std=c++17 -O3 -ccbin $(CC) -w -rdc=true -DORACLE -DNVSHMEM_NAMES \
    -DFEWER_TYPES $1 -I$(ORACLE) -I$$at/include -cudart static -Xlinker -s \
    -gencode arch=compute_$(GPU_ARCH),code=sm_$(GPU_ARCH) -o $@ $< -L$$at/lib -lnvshmem_device -l:libnvshmem_host.so.3

$(addprefix $(ORACLE)/,$(ORACLE_NAMES) nvshmem): $(ORACLE)/%: tests/gpu/%.cu $(ORACLE_DEPS)
	$(call ORACLE_NVCC,)

$(ORACLE)/colls: tests/gpu/colls.cu $(ORACLE_DEPS)
	$(call ORACLE_NVCC,-DNO_SCATTER)

$(ORACLE)/scatter: tests/gpu/colls.cu $(ORACLE_DEPS)
	$(call ORACLE_NVCC,-DSCATTER_ONLY)

# A program under the shim, which is a copy without debug information.
$(ORACLE)/traced: tests/gpu/oracle/traced.cu $(ORACLE_DEPS)
	$(call ORACLE_NVCC,)

$(ORACLE)/libshmem_preload.so: $(BUILD)/lib/libshmem_preload.so
	@mkdir -p $(@D)
	strip -g -o $@ $<
