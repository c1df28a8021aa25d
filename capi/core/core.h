/*
 * core.h: the functions and variables that the C and the Go of libshmem_core.so share.
 */
#ifndef SHMEMI_CORE_INSIDE_H
#define SHMEMI_CORE_INSIDE_H

#include "fastpath.h"
#include "driver.h"
#include "functions.h"
#include "mesh.h"
#include "rma.h"
#include "zz_nvtx.h"

/* From now on posts, and polls of the network, try C functions (native) before Go. first is the
 * state of the default context, which has that of the other contexts. If native is NULL, all posts
 * and polls call Go; if first is NULL, there is no network. */
void shmemi_core_set_fastpath(struct shmemi_state *state, const struct shmemi_native *native,
                              struct shmemi_fastpath *first);

/* The functions for meshes. */
extern const struct shmemi_mesh shmemi_core_meshes;

/* The functions for groups, the sets of ranks that libshmem_rma.so connects. */
extern const struct shmemi_rma shmemi_core_rma;

/* Calls a program's function for the log of a mesh. */
void shmemi_core_mesh_log(void (*log)(const char *text, void *arg), const char *text, void *arg);

/* Wakes the threads of this PE that sleep. */
void shmemi_core_wake(struct shmemi_state *state);

/* Texts that Go writes and C reads: the last failure, its remedy, and the version. */
extern char shmemi_core_text[1024];
extern char shmemi_core_remedy[256];
extern char shmemi_core_version[64];

/* Ends the job, by the front's abort function, because of an error of the network. */
void shmemi_core_fatal(const char *what) __attribute__((noreturn));
/* Ends the job after a panic of Go in a call or a goroutine. */
void shmemi_core_internal_error(const char *call, const char *what) __attribute__((noreturn));
/* Ends this process at once, without a message. */
void shmemi_core_exit(void) __attribute__((noreturn));
/* Ends the job, because a PE is lost. */
void shmemi_core_lost_fatal(const char *what) __attribute__((noreturn));
/* Ends the job, because its launcher is gone. */
void shmemi_core_orphan_fatal(const char *what) __attribute__((noreturn));
/* Ends the job, for an error of a kernel. */
void shmemi_core_kernel_fatal(const char *what, const char *remedy) __attribute__((noreturn));

/* Writes the program's buffered output, by the front's function `flush`. */
void shmemi_core_flush(void);

/* Ends this process with a status, because the job has ended. Prints `what` unless status is 0. */
void shmemi_core_end(const char *what, int status) __attribute__((noreturn));

/* What ends the sleep of one engine's proxy. */
struct shmemi_core_waker {
    void (*wake)(void *self); /* the provider's function; NULL: Go's */
    void *self;               /* the argument of wake */
    int engine;               /* the engine's number, for Go's function */
    uint32_t *napping;        /* the futex on which it sleeps while callers poll the network */
};

/* Threads that have submitted an operation to a ring (a queue that the proxy serves) call this with
 * a struct shmemi_core_waker: it wakes the proxy. */
void shmemi_core_wake_proxy(void *waker);

/* The driver functions for copies, which C calls without Go. */
struct shmemi_core_gpu {
    void *context, *stream; /* the PE's CUcontext, and the library's CUstream for copies */
    struct shmemi_cuda driver;
};

/* Sets the functions of the driver that copies use from now on. NULL: there are none. Also ends
 * what shmemi_core_streams allows. */
void shmemi_core_set_driver(const struct shmemi_core_gpu *gpu);

/* From now on, until the next shmemi_core_set_driver, C also makes puts and gets on the program's
 * streams, without Go, if direct[pe] is not 0: the address of that PE's user heap in this process.
 * user: the address that the program has for its own. Called at most once between two calls of
 * shmemi_core_set_driver. */
void shmemi_core_streams(const uint64_t *direct, size_t n_pes, uint64_t user);

/* Sets whether shmemgoDepart is called when this process ends by exit(). */
void shmemi_core_set_departs(int departs);

/* Stores the functions of the front that are in args. The functions below call them. */
void shmemi_core_set_front(const struct shmemi_init_args *args);
/* Calls the front's functions `doing` and `finalized` (struct shmemi_init_args). how is a set of
 * SHMEMI_DOING_ bits. */
void shmemi_core_doing(int pe, unsigned how, char *text, size_t size);
void shmemi_core_finalized(void);
/* Calls the front's function `ranges` (struct shmemi_init_args), and returns its result. */
int shmemi_core_open_ranges(uint32_t groups);
/* Begins a range of the proxy, SHMEMI_NVTX_..., or ends the last one. */
void shmemi_core_range(unsigned name);

#endif
