/*
 * nccl.h: what NCCL and its RMA plugins have agreed on, versions 13 to 16: results, properties,
 * and a table of functions for each version. The layouts are NCCL's; the tests compare offsets and
 * sizes with those of NCCL's headers (tests/rma).
 */
#ifndef SHMEMI_RMA_NCCL_H
#define SHMEMI_RMA_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ncclResult_t: those that the plugin returns. */
typedef enum {
    NCCL_SUCCESS = 0,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INTERNAL_ERROR = 3,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_REMOTE_ERROR = 6
} nccl_result;

/* NCCL's function for its log; flags: the parts of NCCL that the line is about. */
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };
typedef void (*nccl_logger)(int level, unsigned long flags, const char *file, int line,
                            const char *format, ...);

enum {
    NCCL_PTR_HOST = 1,
    NCCL_PTR_CUDA = 2,
    NCCL_MR_NEVER_RESET = 2, /* the words of registered memory are changed by signals alone */
    NCCL_SIGNAL_INC = 1,
    NCCL_SIGNAL_ADD = 2,
    NCCL_NETDEV_GIN_PROXY = 2, /* kernels write requests for NCCL's proxy thread */
    NCCL_HANDLE_SIZE = 128
};

/* What NCCL asks about a device. */
struct nccl_properties {
    const char *name;
    const char *pci_path; /* NULL: the device is no PCI function */
    uint64_t guid;
    int ptr_support;   /* a sum of NCCL_PTR constants: memory that the network reaches by itself */
    int reg_is_global; /* registered memory is not bound to one connection */
    int force_flush;   /* receives into GPU memory need a flush */
    int speed;         /* Mbit/s */
    int port;
    float latency;   /* of the network, in microseconds */
    int max_comms;   /* connections */
    int max_recvs;   /* receives that one request groups */
    int device_type; /* NCCL_NETDEV_ */
    int device_version;
    struct {
        int count;
        int numbers[8];
    } devices; /* that this one stands for */
    size_t max_p2p_bytes;
    size_t max_coll_bytes;
    int max_multi_request_size;
    int16_t rail;  /* of the network; -1: not known */
    int16_t plane; /* as rail */
};

/* What createContext is asked for: this plugin reads only the number of contexts. */
struct nccl_config_v13 {
    int signals;
    int counters;
    int contexts;
    int depth;
    int traffic_class;
};

struct nccl_config_v14 { /* up to version 16 */
    int contexts;
    int traffic_class;
    int rank_stride;
};

struct nccl_rma_properties { /* from version 16 on */
    bool flushes_all_puts_on_any_signal;
};

/* The functions that all versions have, in the order of the tables: those that begin a table, those
 * between createContext and regMr*, and those that end one. */
#define NCCL_RMA_BEGIN                                                                             \
    const char *name;                                                                              \
    nccl_result (*init)(void **ctx, uint64_t comm, nccl_logger log);                               \
    nccl_result (*devices)(int *count);

#define NCCL_RMA_CONNECT                                                                           \
    nccl_result (*get_properties)(int device, struct nccl_properties *properties);                 \
    nccl_result (*listen)(void *ctx, int device, void *handle, void **listener);                   \
    nccl_result (*connect)(void *ctx, void *handles[], int ranks, int rank, void *listener,        \
                           void **coll);

#define NCCL_RMA_CLOSE                                                                             \
    nccl_result (*dereg)(void *coll, void *memory);                                                \
    nccl_result (*destroy_context)(void *context);                                                 \
    nccl_result (*close_coll)(void *coll);                                                         \
    nccl_result (*close_listen)(void *listener);

#define NCCL_RMA_END                                                                               \
    nccl_result (*flush)(void *context, int number, void *memory, uint32_t rank, void **request);  \
    nccl_result (*test)(void *coll, void *request, int *done);                                     \
    nccl_result (*progress)(void *context);                                                        \
    nccl_result (*last_error)(void *context, bool *failed);                                        \
    nccl_result (*finalize)(void *ctx);

/* The arguments of the operations, without those that only some versions have. Offsets are in bytes
 * from the begin of registered memory: source_offset in this rank's part of source, offset in
 * rank's part of memory, signal_offset in rank's part of signal. number is that of one of the
 * contexts that createContext has made together, and op is NCCL_SIGNAL_INC or NCCL_SIGNAL_ADD. */
#define NCCL_PUT                                                                                   \
    void *context, int number, uint64_t source_offset, void *source, size_t bytes,                 \
        uint64_t offset, void *memory, uint32_t rank
#define NCCL_SIGNAL uint64_t signal_offset, void *signal, uint64_t value, uint32_t op

#define NCCL_REGISTER_V14                                                                          \
    nccl_result (*create_context)(void *coll, struct nccl_config_v14 *config, void **context);     \
    nccl_result (*reg)(void *coll, void *base, size_t bytes, int type, uint64_t flags,             \
                       void **memory);                                                             \
    nccl_result (*reg_dma_buf)(void *coll, void *base, size_t bytes, int type, uint64_t offset,    \
                               int fd, uint64_t flags, void **memory);

#define NCCL_OPERATIONS_V15                                                                        \
    nccl_result (*put)(NCCL_PUT, uint32_t options, void **request);                                \
    nccl_result (*put_signal)(NCCL_PUT, NCCL_SIGNAL, bool strong, uint32_t options,                \
                              void **request);                                                     \
    nccl_result (*get)(NCCL_PUT, uint32_t options, void **request);

struct nccl_rma_v13 {
    NCCL_RMA_BEGIN NCCL_RMA_CONNECT nccl_result (*create_context)(void *coll,
                                                                  struct nccl_config_v13 *config,
                                                                  void **context, void **device);
    nccl_result (*reg)(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                       void **memory, void **of_device);
    nccl_result (*reg_dma_buf)(void *coll, void *base, size_t bytes, int type, uint64_t offset,
                               int fd, uint64_t flags, void **memory, void **of_device);
    NCCL_RMA_CLOSE
    nccl_result (*put)(NCCL_PUT, void **request);
    nccl_result (*put_signal)(NCCL_PUT, NCCL_SIGNAL, void **request);
    nccl_result (*get)(NCCL_PUT, void **request);
    NCCL_RMA_END
};

struct nccl_rma_v14 {
    NCCL_RMA_BEGIN NCCL_RMA_CONNECT NCCL_REGISTER_V14 NCCL_RMA_CLOSE
        nccl_result (*put)(NCCL_PUT, void **request);
    nccl_result (*put_signal)(NCCL_PUT, NCCL_SIGNAL, bool strong, void **request);
    nccl_result (*get)(NCCL_PUT, void **request);
    NCCL_RMA_END
};

struct nccl_rma_v15 {
    NCCL_RMA_BEGIN NCCL_RMA_CONNECT NCCL_REGISTER_V14 NCCL_RMA_CLOSE NCCL_OPERATIONS_V15
        NCCL_RMA_END
};

struct nccl_rma_v16 {
    NCCL_RMA_BEGIN
    nccl_result (*get_rma_properties)(void *coll, struct nccl_rma_properties *properties);
    NCCL_RMA_CONNECT NCCL_REGISTER_V14 NCCL_RMA_CLOSE NCCL_OPERATIONS_V15 NCCL_RMA_END
};

#endif
