/*
 * driver.h: the shared part of the fake driver. fake_lock guards all of its state, except for the
 * stack of contexts, of which each thread has its own. fake_crosses locks it itself; a caller of
 * the other functions here holds it where they use blocks, mappings or streams.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "fake.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* Results of the driver: CUresult. */
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3 };
enum { NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, PEER_UNSUPPORTED = 217 };
enum { NOT_FOUND = 500, NOT_READY = 600, CONTEXT_IS_DESTROYED = 709, NOT_SUPPORTED = 801 };
enum { CAPTURE_UNSUPPORTED = 900 };
enum { INVALID_HANDLE = 400 };

enum { RELAXED = 2 }; /* a mode of threads while streams are captured */

/* PAGE and MISALIGNED describe small blocks of cuMemAlloc, see memory.c. A context is a number and
 * no pointer: CONTEXT + device is the primary context of a device, OWN + 4 * device + k the k-th
 * context of cuCtxCreate there (k from 0 to 3). */
enum { PAGE = 65536, MISALIGNED = 512, CONTEXT = 0x1000, OWN = 0x2000 };

/* What made a block: cuMemHostAlloc (HOST), cuMemHostRegister (REGISTERED), cuMemAllocManaged
 * (MANAGED), cuMemAlloc (DEVICE) or cuIpcOpenMemHandle (OPENED). FREE: the entry has no block. */
typedef enum { FREE, HOST, REGISTERED, MANAGED, DEVICE, OPENED } kind;

/* Memory that is not of cuMemCreate (vmm.c has that). */
struct block {
    kind kind;
    /* The addresses that the CPU and the GPU use. host is NULL if the kind is DEVICE or OPENED. */
    char *host, *device;
    size_t size;   /* as the caller gave it */
    char *map[2];  /* mappings of `mapped` bytes each, which end with the block; NULL: none */
    size_t mapped; /* of DEVICE more than size, and map[0] begins before device */
    int fd;        /* of DEVICE: the file with the memory; else -1 */
    unsigned long id;
    void *context; /* that was current when it was made */
};

enum { BLOCKS = 256 };
extern struct block fake_blocks[BLOCKS];
extern pthread_mutex_t fake_lock;

/* Returns 0, or the error of a call that needs a current context: the calling thread has none, or a
 * reset has ended it. */
int fake_needs_context(void);

/* Like fake_needs_context, for a call that may wait for the GPU. While another thread captures a
 * graph (others_capture=1), the driver refuses such a call, unless the calling thread is in the
 * relaxed capture mode. */
int fake_may_wait(void);

/* The current context of the calling thread, or NULL. */
void *fake_context(void);

/* Reports whether a context is a primary one, which the program shares with the library, and not
 * made by cuCtxCreate. NULL, the context of the default stream, counts as primary. */
bool fake_is_primary(const void *context);

/* Returns how many contexts of cuCtxCreate exist. Each occupies FAKE_CONTEXT_BYTES of the GPU. */
int fake_contexts(void);
enum { FAKE_CONTEXT_BYTES = 260 << 20 };

/* Reports whether the program is loading a kernel beside one that runs (FAKE_CUDA_HOLD in fake.h):
 * meanwhile no work of a primary context is carried out. */
bool fake_loads(void);

/* Reports whether an address is in memory that belongs to a primary context: memory of cuMemAlloc,
 * cuMemAllocManaged and cuIpcOpenMemHandle, and not mapped or pinned memory. */
bool fake_of_primary(const void *address);

/* Where a copy finds what is at an address: elsewhere for memory of cuMemAlloc that is apart. */
char *fake_reached(const void *address);

/* Ends the streams and events of a context of cuCtxCreate. */
void fake_drop_streams_of(const void *context);

/* End the parts of a context at a reset: its memory, its streams with its events, and its modules.
 * The handles of streams, events and modules are dead, and no later object gets them. */
void fake_reset_memory(const void *context);
void fake_reset_streams(const void *context);
void fake_reset_modules(const void *context);

/* Returns a new block without memory. */
struct block *fake_add(kind kind);

/* Returns the block of this kind that begins at the address, for the CPU or the GPU; or NULL. */
struct block *fake_find(kind kind, const void *address);

/* Unmaps and frees a block. Returns 0, or INVALID_VALUE for NULL, so that it can be given the
 * result of fake_find. */
int fake_release(struct block *b);

/* Calls mmap with the right to read and write, from the start of the file; the flags are mmap's. */
char *fake_map(size_t n, int fd, int flags, void *at);

/* Returns an id that no block and no chunk of vmm.c had: CU_POINTER_ATTRIBUTE_BUFFER_ID. */
unsigned long fake_next_id(void);

/* Makes a file of n bytes for memory of the GPU, and returns its descriptor. */
int fake_memory(size_t n);

/* Returns the descriptor of the file with n bytes of memory that vmm.c has mapped, which stays the
 * mapping's, and sets their offset in it. Returns -1 if the bytes are not within one mapping. */
int fake_mapped_file(const char *at, size_t n, size_t *offset);

/* Reports whether an address is in memory that vmm.c has mapped, and sets the start, the size and
 * the id of the mapping. */
bool fake_mapped_range(const char *at, char **base, size_t *n, unsigned long *id);

/* Reports whether n bytes begin in registered memory and end beyond it: the driver refuses to copy
 * or fill such bytes. */
bool fake_crosses(const char *at, size_t n);

/* Free all that is left when the last context is released. */
void fake_drop_vmm(void);
void fake_drop_streams(void);

#define LOCKED(expression)                                                                         \
    ({                                                                                             \
        pthread_mutex_lock(&fake_lock);                                                            \
        __typeof__(expression) value_ = (expression);                                              \
        pthread_mutex_unlock(&fake_lock);                                                          \
        value_;                                                                                    \
    })

/* BEGIN begins a call that makes or uses an object: it logs the call, and returns from the function
 * if the result is an error or the test makes the call fail. */
#define BEGIN(result)                                                                              \
    int code = fake_note(__func__, result);                                                        \
    if (code != 0)                                                                                 \
    return code
/* END ends a call that releases an object: result is the release itself, which is carried out even
 * if the test then makes the call return an error. */
#define END(result)                                                                                \
    int done = result;                                                                             \
    return fake_note(__func__, done)

#endif
