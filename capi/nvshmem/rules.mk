# rules.mk: how libnvshmem_host.so is built. The Makefile includes it.

# The names of NVSHMEM, which forward to libshmem.so. This library finds that one beside it when it
# is loaded, and reaches its functions under names that no other library defines: zz_below.h lists
# the undefined names of the objects that are libshmem.so's (capi/nvshmem/below.c).
NVSHMEM_SRC  := $(filter-out capi/nvshmem/below.c,$(wildcard capi/nvshmem/*.c))
NVSHMEM_OBJ  := $(NVSHMEM_SRC:capi/nvshmem/%.c=$(BUILD)/obj/nvshmem/%.o)
NVSHMEM_LOAD := $(BUILD)/obj/nvshmem/below.o $(BUILD)/obj/nvshmem/below.S.o
NVSHMEM_MAP  := $(GEN)/nvshmem/front/zz_libnvshmem_host.map
NVSHMEM_NAME := libnvshmem_host.so.3

$(BUILD)/obj/nvshmem/%.o: capi/nvshmem/%.c Makefile capi/nvshmem/rules.mk | $(BUILD)/obj/fit
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_LIB) -DSHMEMI_PUBLIC= -I$(BUILD)/obj/nvshmem -MMD -MP -c -o $@ $<

$(BUILD)/obj/nvshmem/%.S.o: capi/nvshmem/%.S Makefile capi/nvshmem/rules.mk
	$(CC) $(CFLAGS_LIB) -I$(BUILD)/obj/nvshmem -c -o $@ $<

$(BUILD)/obj/nvshmem/zz_below.h: $(NVSHMEM_OBJ) $(BUILD)/lib/libshmem.so
	nm -D --defined-only $(BUILD)/lib/libshmem.so | sed -n 's/.* T \([^@]*\).*/\1/p' | sort > $@.exported
	nm -u $(NVSHMEM_OBJ) | sed -n 's/^ *U //p' | sort -u | comm -12 - $@.exported | sed 's/.*/BELOW(&)/' > $@

$(NVSHMEM_LOAD): $(BUILD)/obj/nvshmem/zz_below.h

$(BUILD)/lib/$(NVSHMEM_NAME): $(NVSHMEM_OBJ) $(NVSHMEM_LOAD) $(NVSHMEM_MAP)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ -Wl,-soname,$(NVSHMEM_NAME) -Wl,--version-script=$(NVSHMEM_MAP) $(LDFLAGS_SO) \
	    -Wl,-rpath,'$$ORIGIN' $(NVSHMEM_OBJ) $(NVSHMEM_LOAD) -ldl

$(BUILD)/lib/libnvshmem_host.so: $(BUILD)/lib/$(NVSHMEM_NAME)
	ln -sf $(NVSHMEM_NAME) $@

-include $(NVSHMEM_OBJ:.o=.d) $(BUILD)/obj/nvshmem/below.d
