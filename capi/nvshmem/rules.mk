# rules.mk: how libshmem_nvshmem.so and libnvshmem_host.so.3 are built. The Makefile includes it.

# The names of NVSHMEM, which forward to libshmem.so. This library finds that one beside it when it
# is loaded, and reaches its functions under names that no other library defines: zz_below.h lists
# the undefined names of the objects that are libshmem.so's (capi/nvshmem/below.c).
NVSHMEM_SRC  := $(filter-out capi/nvshmem/below.c,$(wildcard capi/nvshmem/*.c))
NVSHMEM_OBJ  := $(NVSHMEM_SRC:capi/nvshmem/%.c=$(BUILD)/obj/nvshmem/%.o) $(NVSHMEM_GEN:$(GEN)/nvshmem/front/%.c=$(BUILD)/obj/nvshmem/made/%.o)
NVSHMEM_LOAD := $(BUILD)/obj/nvshmem/below.o $(BUILD)/obj/nvshmem/below.S.o
NVSHMEM_MAP  := $(GEN)/nvshmem/front/zz_libshmem_nvshmem.map
NVSHMEM_NAME := libshmem_nvshmem.so
# For programs that are built already: NVIDIA's soname and version node, and a jump for each name
# (docs/decisions/0057-own-soname.md).
NVSHMEM_OLD  := libnvshmem_host.so.3

$(BUILD)/obj/nvshmem/%.o: capi/nvshmem/%.c Makefile capi/nvshmem/rules.mk | $(BUILD)/obj/fit
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_LIB) -DSHMEMI_PUBLIC= -I$(BUILD)/obj/nvshmem -MMD -MP -c -o $@ $<

$(BUILD)/obj/nvshmem/made/%.o: $(GEN)/nvshmem/front/%.c Makefile capi/nvshmem/rules.mk | $(BUILD)/obj/fit
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_LIB) $(GENERATED_G) -DSHMEMI_PUBLIC= -iquote capi/nvshmem -MMD -MP -c -o $@ $<

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

# Made of the same two files: it finds the functions of $(NVSHMEM_NAME).
NVSHMEM_FORWARD := -DBELOW_NAMES='"zz_forward.h"' -DBELOW_LIBRARY='"$(NVSHMEM_NAME)"' -DBELOW_EXPORTS
$(BUILD)/obj/nvshmem/zz_forward.h: $(NVSHMEM_MAP) capi/nvshmem/rules.mk
	@mkdir -p $(@D)
	sed -n 's/^    \(nvshmem.*\);/BELOW(\1)/p' $< | grep -v '(nvshmem_selected_device_transport)' > $@

$(BUILD)/obj/nvshmem/zz_forward.map: $(NVSHMEM_MAP) capi/nvshmem/rules.mk
	@mkdir -p $(@D)
	sed 's/^[A-Z].* {/NVSHMEM {/' $< > $@

$(BUILD)/obj/nvshmem/forward.o: capi/nvshmem/below.c $(BUILD)/obj/nvshmem/zz_forward.h Makefile capi/nvshmem/rules.mk
	$(CC) $(CFLAGS_LIB) -DSHMEMI_PUBLIC= $(NVSHMEM_FORWARD) -I$(BUILD)/obj/nvshmem -MMD -MP -c -o $@ $<

$(BUILD)/obj/nvshmem/forward.S.o: capi/nvshmem/below.S $(BUILD)/obj/nvshmem/zz_forward.h Makefile capi/nvshmem/rules.mk
	$(CC) $(CFLAGS_LIB) $(NVSHMEM_FORWARD) -I$(BUILD)/obj/nvshmem -c -o $@ $<

$(BUILD)/lib/$(NVSHMEM_OLD): $(BUILD)/obj/nvshmem/forward.o $(BUILD)/obj/nvshmem/forward.S.o $(BUILD)/obj/nvshmem/zz_forward.map $(BUILD)/lib/$(NVSHMEM_NAME)
	$(CC) -shared -o $@ -Wl,-soname,$(NVSHMEM_OLD) -Wl,--version-script=$(BUILD)/obj/nvshmem/zz_forward.map $(LDFLAGS_SO) \
	    -Wl,-rpath,'$$ORIGIN' $(filter %.o,$^) -Wl,--no-as-needed $(BUILD)/lib/$(NVSHMEM_NAME) -ldl

$(BUILD)/lib/libnvshmem_host.so: $(BUILD)/lib/$(NVSHMEM_NAME) $(BUILD)/lib/$(NVSHMEM_OLD)
	ln -sf $(NVSHMEM_NAME) $@

-include $(NVSHMEM_OBJ:.o=.d) $(BUILD)/obj/nvshmem/below.d $(BUILD)/obj/nvshmem/forward.d
