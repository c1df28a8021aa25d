# rules.mk: how libshmem_rma.so, NCCL's plugin, is built. The Makefile includes it.

# It finds libshmem.so beside it, which loads the core: a second Go library would be a second
# runtime in the process.
RMA_OBJ := $(patsubst capi/rma/%.c,$(BUILD)/obj/rma/%.o,$(wildcard capi/rma/*.c))

$(BUILD)/obj/rma/%.o: capi/rma/%.c Makefile capi/rma/rules.mk | $(BUILD)/obj/fit
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_LIB) -MMD -MP -c -o $@ $<

$(BUILD)/lib/libshmem_rma.so: $(RMA_OBJ) $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(CC) -shared -o $@ -Wl,-soname,libshmem_rma.so $(LDFLAGS_SO) -Wl,-rpath,'$$ORIGIN' $(RMA_OBJ) -L$(@D) -lshmem

-include $(RMA_OBJ:.o=.d)
