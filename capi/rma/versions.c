/*
 * versions.c: a table of functions for each version of NCCL's interface for network plugins with
 * one-sided operations. NCCL uses the newest that it knows.
 *
 * What differs: version 13 has no weak signals, and asks for handles of devices, which a plugin for
 * NCCL's proxy does not have; 15 has a hint that more operations follow, which changes nothing
 * here, since the engine packs what it finds; 16 asks whether a signal flushes the puts of all
 * ranks.
 */
#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define NAME "libshmem"

/* The arguments of a version's put or get. */
#define TRANSFER                                                                                   \
    .context = context, .number = number, .local_offset = source_offset, .local = source,          \
    .bytes = bytes, .offset = offset, .memory = memory, .rank = rank
#define WITH_SIGNAL .signal_offset = signal_offset, .signal = signal, .value = value, .op = op

/* Implements createContext of version 13, which also asks for a handle for kernels: there is none.
 */
static nccl_result contexts_v13(void *coll, struct nccl_config_v13 *config, void **context,
                                void **device)
{
    *device = NULL;
    return plugin_contexts(coll, config->contexts, context);
}

/* Implements createContext of versions 14 to 16. */
static nccl_result contexts_v14(void *coll, struct nccl_config_v14 *config, void **context)
{
    return plugin_contexts(coll, config->contexts, context);
}

/* Implements regMrSym of version 13, which also asks for a handle for kernels. With NCCL's proxy no
 * kernel uses it: it is set to the memory. */
static nccl_result reg_v13(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                           void **memory, void **of_device)
{
    nccl_result result = plugin_register(coll, base, bytes, type, flags, memory);
    *of_device = result == NCCL_SUCCESS ? *memory : NULL;
    return result;
}

/* Implements regMrSymDmaBuf of version 13. Where NICs access the memory of a GPU, the core itself
 * makes a descriptor of a DMA buffer, so NCCL's is not needed. */
static nccl_result reg_dma_buf_v13(void *coll, void *base, size_t bytes, int type, uint64_t offset,
                                   int fd, uint64_t flags, void **memory, void **of_device)
{
    (void)offset;
    (void)fd;
    return reg_v13(coll, base, bytes, type, flags, memory, of_device);
}

/* Implements regMrSym of versions 14 to 16. */
static nccl_result reg_v14(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                           void **memory)
{
    return plugin_register(coll, base, bytes, type, flags, memory);
}

/* Implements regMrSymDmaBuf of versions 14 to 16. Where NICs access the memory of a GPU, the core
 * itself makes a descriptor of a DMA buffer, so NCCL's is not needed. */
static nccl_result reg_dma_buf_v14(void *coll, void *base, size_t bytes, int type, uint64_t offset,
                                   int fd, uint64_t flags, void **memory)
{
    (void)offset;
    (void)fd;
    return plugin_register(coll, base, bytes, type, flags, memory);
}

/* Implements iput of versions 13 and 14. */
static nccl_result put_v13(NCCL_PUT, void **request)
{
    return plugin_put(&(struct transfer){TRANSFER}, request);
}

/* Implements iput of versions 15 and 16, which have options, such as a hint that more operations
 * follow. */
static nccl_result put_v15(NCCL_PUT, uint32_t options, void **request)
{
    (void)options;
    return plugin_put(&(struct transfer){TRANSFER}, request);
}

/* Implements iputSignal of version 13, in which each signal follows all earlier operations
 * (strong). */
static nccl_result put_signal_v13(NCCL_PUT, NCCL_SIGNAL, void **request)
{
    return plugin_put(&(struct transfer){TRANSFER, WITH_SIGNAL, .strong = true}, request);
}

/* Implements iputSignal of version 14. */
static nccl_result put_signal_v14(NCCL_PUT, NCCL_SIGNAL, bool strong, void **request)
{
    return plugin_put(&(struct transfer){TRANSFER, WITH_SIGNAL, .strong = strong}, request);
}

/* Implements iputSignal of versions 15 and 16. */
static nccl_result put_signal_v15(NCCL_PUT, NCCL_SIGNAL, bool strong, uint32_t options,
                                  void **request)
{
    (void)options;
    return plugin_put(&(struct transfer){TRANSFER, WITH_SIGNAL, .strong = strong}, request);
}

/* The arguments of iget. NCCL names the remote memory first, and then the local one: here the names
 * are those of NCCL_PUT, so that TRANSFER fits both. */
#define GET                                                                                        \
    void *context, int number, uint64_t offset, void *memory, size_t bytes,                        \
        uint64_t source_offset, void *source, uint32_t rank

/* Implements iget of versions 13 and 14. */
static nccl_result get_v13(GET, void **request)
{
    return plugin_get(&(struct transfer){TRANSFER}, request);
}

/* Implements iget of versions 15 and 16. */
static nccl_result get_v15(GET, uint32_t options, void **request)
{
    (void)options;
    return plugin_get(&(struct transfer){TRANSFER}, request);
}

/* Implements getRmaProperties of version 16. Who sees a signal sees the earlier bytes of its
 * sender, but not those of other ranks. */
static nccl_result rma_properties(void *coll, struct nccl_rma_properties *properties)
{
    (void)coll;
    properties->flushes_all_puts_on_any_signal = false;
    return NCCL_SUCCESS;
}

#define BEGIN .name = NAME, .init = plugin_init, .devices = plugin_devices
#define CONNECT                                                                                    \
    .get_properties = plugin_properties, .listen = plugin_listen, .connect = plugin_connect
#define REGISTER_V14 .create_context = contexts_v14, .reg = reg_v14, .reg_dma_buf = reg_dma_buf_v14
#define CLOSE                                                                                      \
    .dereg = plugin_unregister, .destroy_context = plugin_destroy_context,                         \
    .close_coll = plugin_close, .close_listen = plugin_close_listen
#define OPERATIONS_V15 .put = put_v15, .put_signal = put_signal_v15, .get = get_v15
#define END                                                                                        \
    .flush = plugin_flush, .test = plugin_test, .progress = plugin_progress,                       \
    .last_error = plugin_last_error, .finalize = plugin_finalize

EXPORT const struct nccl_rma_v13 ncclRmaPlugin_v13 = {
    BEGIN,
    CONNECT,
    .create_context = contexts_v13,
    .reg = reg_v13,
    .reg_dma_buf = reg_dma_buf_v13,
    CLOSE,
    .put = put_v13,
    .put_signal = put_signal_v13,
    .get = get_v13,
    END,
};

EXPORT const struct nccl_rma_v14 ncclRmaPlugin_v14 = {
    BEGIN,          CONNECT, REGISTER_V14, CLOSE, .put = put_v13, .put_signal = put_signal_v14,
    .get = get_v13, END,
};

EXPORT const struct nccl_rma_v15 ncclRmaPlugin_v15 = {
    BEGIN, CONNECT, REGISTER_V14, CLOSE, OPERATIONS_V15, END,
};

EXPORT const struct nccl_rma_v16 ncclRmaPlugin_v16 = {
    BEGIN, .get_rma_properties = rma_properties, CONNECT, REGISTER_V14, CLOSE, OPERATIONS_V15, END,
};
