/*
 * functions.h: the functions that libshmem_core.so (Go) has for libshmem.so (C), and their
 * arguments. zz_state.h has the state that both share. Both files are built from one source tree,
 * and shmemi_core_open refuses a partner whose version or struct sizes differ.
 */
#ifndef SHMEMI_FUNCTIONS_H
#define SHMEMI_FUNCTIONS_H

#include "zz_control.h"
#include "zz_fabric.h"
#include "zz_statuspage.h"
#include "zz_request.h"
#include "zz_settings.h"
#include "zz_state.h"

#include <stddef.h>
#include <stdint.h>

struct shmemi_core;
struct shmemi_stream_call;
struct shmemi_device_team;

struct shmemi_init_args {
    int requested;
    int provided;
    int kernels; /* the program has some that include shmem/shmem.cuh */
    /* The program's statics: bytes of whole pages, and a text that has to be the same on PEs whose
     * statics are symmetric; or no bytes, and why. */
    uint64_t statics_size;
    const char *statics_like;
    const char *statics_cause;
    const char *statics_remedy;
    const char *const
        *environ_; /* C's environ: Go's copy is made at load and misses later changes */
    /* The program's arguments of shmemx_init_attr: the 128 bytes of a unique id, or NULL, with this
     * PE's number and the number of PEs. */
    const void *uid;
    int uid_pe;
    int uid_n_pes;
    const void *mpi_comm; /* or the address of an MPI_Comm */
    /* The program uses the names of NVSHMEM: its variables of the environment are settings, too, it
     * has kernels of its own, and its heap may grow to the GPU's memory. */
    int nvshmem;
    /* Returns which of these groups of ranges there will be: none without a profiler that listens.
     * -1: this library cannot show any. The thread is in a range from here on, if init is one. */
    int (*ranges)(uint32_t groups);
    /* The thread enters a range, and leaves the one that it entered last. */
    void (*range_enter)(int of, uint32_t group, const char *name);
    void (*range_leave)(int of);
    /* Writes the present work of a PE of this node, as the end of a sentence about it, or "". how:
     * SHMEMI_DOING_... */
    void (*doing)(int pe, unsigned how, char *text, size_t size);
    /* From now on this PE needs no other one to finalize. */
    void (*finalized)(void);
    /* Writes the program's buffered output, unless that might wait. */
    void (*flush)(void);
    char *error; /* out: why init failed */
    size_t error_size;
};

/*
 * The core's functions. None of them waits for a peer, except init and
 * finalize; they return SHMEMI_PENDING or SHMEMI_AGAIN and the caller waits in
 * C. The functions marked (locked) are called with net_lock held.
 */
struct shmemi_core {
    uint32_t version;
    uint32_t size;       /* of this struct */
    uint32_t state_size; /* of struct shmemi_state */
    uint32_t reserved;
    const char *build; /* version of the build, for the message when they differ */

    int (*init)(struct shmemi_state *state, struct shmemi_init_args *args);
    /* Fills the 128 bytes of a unique id; 0, or -1 and why in error. Before init, too. */
    int (*uniqueid)(const char *const *environ_, void *id, char *error, size_t error_size);
    void (*finalize)(void);
    void (*global_exit)(int status);
    void (*abort_)(int status, const char *reason);

    /* Symmetric heap: offsets from the user heap, SHMEMI_NO_MEMORY when there
     * is no room or this PE cannot back it. Every PE makes the same calls and
     * gets the same offsets. align 0: the allocator's own. */
    int64_t (*heap_alloc)(size_t size, size_t align, long hints);
    int (*heap_free)(int64_t offset); /* SHMEMI_DONE, or SHMEMI_NO_BLOCK */
    /* Returns offset when the block was resized in place; else a new block, and
     * the caller copies and frees the old one; or SHMEMI_NO_BLOCK. */
    int64_t (*heap_realloc)(int64_t offset, size_t size, size_t *old_size);
    /* The block that offset lies in and the bytes from offset to its end; 0
     * where no block is allocated. */
    size_t (*heap_bytes_from)(int64_t offset);

    /* Network. context: the core's number of a communication context; the default one has 0. */
    int (*post)(const struct shmemi_host_operation *o); /* (locked) */
    int (*fence)(uint32_t context);                     /* (locked) */
    /* (locked) A call with *ticket 0 begins a quiet for all operations posted before, and sets it;
     * PENDING: poll and call again with the same ticket. */
    int (*quiet)(uint32_t context, uint64_t *ticket);
    /* (locked) Opens a context, and returns the number to use in its place: its own, 0 where the
     * engine has the default context alone, or SHMEMI_FAILED. */
    int (*context_open)(uint32_t context);
    /* (locked) Whether small operations of a context share messages from the first one on. */
    void (*batch)(uint32_t context, int on);
    /* Reports whether NICs reach n bytes at an offset of the user heap of a PE, which is in the
     * memory of a GPU: of this PE, or of another one as far as it has announced them here. */
    int (*reaches)(int pe, int64_t offset, size_t n);
    /* The program ends. Requests a reply from the other PEs when all has arrived that this one has
     * sent. DONE: it has; PENDING: poll and call again. It tries the lock itself. From the first
     * call on no failure of the network ends the process. */
    int (*leave)(void);
    int (*poll)(void); /* tries the lock itself; returns the number of completions, or -1: busy */

    /* The struct shmemi_device_state for threads of this process; makes the
     * rings when it is called first. NULL: error has the reason. */
    const void *(*rings)(void);

    /* With a GPU. These return SHMEMI_DONE when it is done, or SHMEMI_FAILED. */
    int (*gpu_move)(void *to, const void *from, size_t n);  /* wherever either is */
    int (*gpu_start)(void *to, const void *from, size_t n); /* begins; gpu_settle waits for all */
    int (*gpu_settle)(void);
    /* As quiet, but for operations of kernels that have ended, and without the lock. */
    int (*quiet_rings)(uint64_t *ticket);
    int (*gpu_clear)(void *at, size_t n);
    int (*gpu_amo)(void *at, int op, int width, uint64_t operand, uint64_t compare,
                   uint64_t *fetched);
    int (*gpu_holds)(const void *at); /* 1: it is in the memory of a GPU */
    /* For finalize, which comes next. 1: the program has reset the GPU, which the core has
     * reported, and nothing of the program's context is left to be given back. */
    int (*gpu_was_reset)(void);
    int (*gpu_chosen)(void); /* 1: the thread that called init used a GPU already */
    int (*gpu_moved)(void);  /* 1: the calling thread uses another GPU than this PE's */
    /* Finds the chunks that GPU memory of the program's lies in, for gpu_lend, which comes next, or
     * gpu_forget; their unit, and how much of them there is, before the memory and in all. */
    int (*gpu_find_chunks)(const void *at, size_t n, size_t *granule, size_t *before, size_t *size);
    void (*gpu_forget)(void);
    /* Maps them from an offset on into a block of the heap, at all PEs; returns where the
     * block begins, or -1. */
    int64_t (*gpu_lend)(size_t size, size_t offset);
    int (*gpu_take_back)(int64_t offset); /* of a byte in the block */
    /* The struct shmemi_device_image for kernels, as this process can read it, and
     * in *at its address for kernels. DONE with an image of NULL: this PE runs no
     * kernels. */
    int (*kernels)(const void **image, uint64_t *at);
    /* Shows kernels the team in a slot, of which t has all but the memory and the list; pes: the
     * PEs of a team without a stride, else NULL. t NULL: the team is no more. */
    int (*team_show)(int slot, const struct shmemi_device_team *t, const int32_t *pes);
    /* Before that, at all PEs of the team: clears the words that kernels have left in its slot. */
    int (*team_renew)(int slot);

    /* Queues a call at a stream of the program (zz_stream.h). The first call of a job is
     * stream_open, with the file of the library's kernels. */
    int (*stream_open)(const char *file);
    int (*stream_call)(int what, const struct shmemi_stream_call *c, void *stream);
    /* The place where code that the program has loaded keeps the job's state. */
    int (*module_job)(int what, void *handle, void **at, size_t *size);

    /* Counters of this PE (runtime/stats). They return NULL or -1 for a number without a counter.
     * pe -1: all. */
    const char *(*counter_name)(int id);
    int (*counter)(int id, int pe, uint64_t *value);
    int (*counter_nic)(int id, int nic, uint64_t *value);
    const char *(*nic_name)(int nic); /* valid until the next call */

    /* Text of the last failure of this thread's call. */
    const char *(*error)(void);
    /* The PE that the last failed call of the engine found lost, or -1; with the
     * text of the failure. */
    int (*error_pe)(char *text, size_t size);
    /* The fate of a lost PE, as the end of a sentence. */
    void (*fate)(int pe, char *text, size_t size);
    /* The program knows of all losses so far; returns their number. */
    int (*acknowledge)(void);
    /* Another PE knows that a PE is lost: a little later it is lost here, too. */
    void (*give_up)(int pe);
    /* The known facts about n PEs that a wait is for, the first of `all`, and about other PEs that
     * stand out; "" if none. Returns the first of the n that has ended well inside the job, or
     * -1. */
    int (*explain)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* The present work of those PEs, in fewer words, and without a lock of the network. */
    void (*late)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* Writes one line about this PE to the log. */
    void (*report)(const char *text);
    /* The same for a wait for a PE, or -1, with the last events of the network below. */
    void (*report_wait)(int pe, const char *text);
    /* Requests from n PEs over the network that they say what they do, or with n 0 from all that
     * they say that they are there, and from the launcher which of them have ended. The replies
     * are for explain and late. */
    void (*probe)(const int32_t *pes, int n);
};

/* The front's abort function. */
typedef void shmemi_abort_fn(const char *call, const char *remedy, const char *cause, ...);

/* The one symbol that libshmem_core.so exports. The core ends the process by that function where no
 * call can return an error, and from its own threads. */
const struct shmemi_core *shmemi_core_table(shmemi_abort_fn *abort_);

#endif
