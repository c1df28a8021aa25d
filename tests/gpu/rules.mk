# Programs of tests/gpu/run.sh that consist of several translation units, load libraries while they
# run, or compile kernels at run time.

TOOLKIT    := $(patsubst %/bin/,%,$(dir $(shell command -v $(NVCC))))

# CUDA's run time: in each of them, or one shared library, which is copied along. The wheel has no
# name for the linker, so the file is given.
CUDART     := $(firstword $(wildcard $(TOOLKIT)/lib*/libcudart.so.1[0-9]))
RUNTIME_static := -cudart static
RUNTIME_shared := -cudart none -L$(dir $(CUDART)) -Xlinker -l:$(notdir $(CUDART))
UNITS      := $(foreach r,static shared,$(GPU)/cuda/units-$(r) $(GPU)/cuda/libunits-$(r).so)
UNIT_OBJ   := $(BUILD)/obj/units$(if $(GPU_PTX),-ptx)
UNIT_DEPS  := tests/gpu/units/units.h $(DEVICE_HEADERS) $(HEADERS) tests/gpu/rules.mk
UNIT_LINK  := -Xlinker -rpath,'$$ORIGIN' -L$(BUILD)/lib -lshmem -lpthread

gpu-test: $(UNITS) $(GPU)/cuda/$(notdir $(CUDART)) $(GPU)/cuda/module.ptx

$(UNIT_OBJ)/%.o: tests/gpu/units/%.cu $(UNIT_DEPS)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(GPU_CODE) -Xcompiler -fPIC -c -o $@ $<

$(GPU)/cuda/units-%: $(UNIT_OBJ)/main.o $(UNIT_OBJ)/other.o $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(NVCC) -ccbin $(CC) $(GPU_CODE) -o $@ $(filter %.o,$^) $(RUNTIME_$*) $(UNIT_LINK) -ldl

$(GPU)/cuda/libunits-%.so: $(UNIT_OBJ)/late.o $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(NVCC) -ccbin $(CC) $(GPU_CODE) -shared -o $@ $< $(RUNTIME_$*) $(UNIT_LINK)

$(GPU)/cuda/$(notdir $(CUDART)): $(CUDART)
	@mkdir -p $(@D)
	cp $< $@

# By NVRTC, where scripts/setup has put it, or the toolkit's.
NVRTC := $(firstword $(wildcard $(shell BUILD=$(BUILD) scripts/setup --tool nvrtc) $(TOOLKIT)/lib*/libnvrtc.so))

$(GPU)/cuda/module.ptx: tests/gpu/code/module.cu tests/device/nvrtc.py $(DEVICE_HEADERS) $(HEADERS) tests/gpu/rules.mk
	@mkdir -p $(@D)
	@[ -n "$(NVRTC)" ] || { echo "find NVRTC: it is not there (scripts/setup test)" >&2; exit 1; }
	LD_LIBRARY_PATH=$(dir $(NVRTC)) python3 tests/device/nvrtc.py $(NVRTC) $< \
	    -std=c++17 --gpu-architecture=compute_$(GPU_ARCH) -Idevice -Iinclude >$@.part
	mv $@.part $@

.SECONDARY: $(patsubst %,$(UNIT_OBJ)/%.o,main other late)
