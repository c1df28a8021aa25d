/*
 * driver.h: the shared part of the fake driver. All of it is behind fake_lock, but for the stack of
 * contexts, which each thread has its own of.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "fake.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3 };
enum { NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, PEER_UNSUPPORTED = 217 };
enum { NOT_FOUND = 500, NOT_READY = 600, CONTEXT_IS_DESTROYED = 709, NOT_SUPPORTED = 801 };
enum { CAPTURE_UNSUPPORTED = 900 };
enum { RELAXED = 2 }; /* a mode of threads while streams are captured */
enum { INVALID_HANDLE = 400 };
enum { PAGE = 65536, MISALIGNED = 512, CONTEXT = 0x1000, OWN = 0x2000 };

typedef enum { FREE, HOST, REGISTERED, MANAGED, DEVICE, OPENED } kind;

struct block {
    kind kind;
    char *host, *device; /* as the two sides address it */
    size_t size;
    char *map[2]; /* the mapped memory */
    size_t mapped;
    int fd;
    unsigned long id;
    void *context; /* that was current when it was made */
};

enum { BLOCKS = 256 };
extern struct block fake_blocks[BLOCKS];
extern pthread_mutex_t fake_lock;

/* 0, or the error of a call that needs a current context and has none, or whose context a reset has
 * ended. */
int fake_needs_context(void);

/* The same for a call that may wait for the GPU, which the driver refuses while another thread
 * captures a graph (others_capture=1), but not to a relaxed thread. */
int fake_may_wait(void);

/* The current context of the calling thread, or NULL. */
void *fake_context(void);

/* Whether a context is one that the program shares with the library, and not made by
 * cuCtxCreate. NULL, of the default stream, is. */
bool fake_is_primary(const void *context);

/* How many contexts cuCtxCreate has made, each of which holds memory. */
int fake_contexts(void);
enum { FAKE_CONTEXT_BYTES = 260 << 20 };

/* Whether the program loads a kernel beside one that runs: nothing that is of a primary
 * context is carried out. See fake.h. */
bool fake_loads(void);

/* Whether an address is in memory that belongs to a primary context: of cuMemAlloc and
 * cuMemAllocManaged, and not mapped or pinned memory. */
bool fake_of_primary(const void *address);

/* Where a copy finds what is at an address: elsewhere for memory of cuMemAlloc that is apart. */
char *fake_reached(const void *address);

void fake_drop_streams_of(const void *context);

/* The parts of a context that a reset ends. Its handles are dead, and no later object gets them. */
void fake_reset_memory(const void *context);
void fake_reset_streams(const void *context);
void fake_reset_modules(const void *context);

struct block *fake_add(kind kind);
struct block *fake_find(kind kind, const void *address);
int fake_release(struct block *b);
char *fake_map(size_t n, int fd, int flags, void *at);
unsigned long fake_next_id(void);

/* A file that memory of the GPU is in. */
int fake_memory(size_t n);

/* The descriptor and the place in it of n bytes of mapped memory, or -1. */
int fake_mapped_file(const char *at, size_t n, size_t *offset);

/* Whether an address is in memory of vmm.c: its mapping. */
bool fake_mapped_range(const char *at, char **base, size_t *n, unsigned long *id);

/* Whether n bytes begin in registered memory and end behind it, which the driver
 * refuses of copies and fills. */
bool fake_crosses(const char *at, size_t n);

/* Gives up all that is left when the last context goes. */
void fake_drop_vmm(void);
void fake_drop_streams(void);

#define LOCKED(expression)                                                                         \
    ({                                                                                             \
        pthread_mutex_lock(&fake_lock);                                                            \
        __typeof__(expression) value_ = (expression);                                              \
        pthread_mutex_unlock(&fake_lock);                                                          \
        value_;                                                                                    \
    })

/* BEGIN comes before a call that a test may make fail, and END after it. */
#define BEGIN(result)                                                                              \
    int code = fake_note(__func__, result);                                                        \
    if (code != 0)                                                                                 \
    return code
/* A release does its work whatever the test wishes. */
#define END(result)                                                                                \
    int done = result;                                                                             \
    return fake_note(__func__, done)

#endif
