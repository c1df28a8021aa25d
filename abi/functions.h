/*
 * functions.h: the functions that libshmem_core.so (Go) has for libshmem.so (C), and their
 * arguments. zz_state.h has the state that both share. Both files are built from one source tree,
 * and shmemi_core_open refuses a partner whose version or struct sizes differ.
 */
#ifndef SHMEMI_FUNCTIONS_H
#define SHMEMI_FUNCTIONS_H

#include "zz_channel.h"
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
struct shmemi_mesh;
struct shmemi_rma;

struct shmemi_init_args {
    int requested; /* SHMEM_THREAD_...: the level that the program asks for */
    int provided;  /* the level that init grants; the front sets it */
    int kernels;   /* 1: the program has kernels that include shmem/shmem.cuh */
    /* The program's statics: bytes of whole pages, and a text that has to be the same on PEs whose
     * statics are symmetric; or no bytes, and the reason. */
    uint64_t statics_size;
    const char *statics_like;
    const char *statics_cause;
    const char *statics_remedy;
    const char *const
        *environ_; /* C's environ: Go's copy is made at load and misses later changes */
    /* The program's arguments of shmemx_init_attr: the 128 bytes of a unique id, or NULL, with this
     * PE's number and how many PEs the job has. These and all other pointers to memory are read
     * only during init; the functions below may be called until finalize has returned. */
    const void *uid;
    int uid_pe;
    int uid_n_pes;
    const void *mpi_comm; /* or the address of an MPI_Comm, or NULL */
    /* The program uses the names of NVSHMEM: its variables of the environment are settings, too,
     * the library cannot see whether it has kernels, and its heap may grow to the GPU's memory. */
    int nvshmem;
    /* Returns which of these groups (SHMEMI_RANGE_...) of ranges a profiler will show: 0 if none
     * listens, -1 if libshmem.so was built without ranges. If init is shown, its range begins here.
     */
    int (*ranges)(uint32_t groups);
    /* Begins a range of this thread, and ends the range that the thread began last. `of` is
     * SHMEMI_RANGES_OF_CALLS or _PROXY. */
    void (*range_enter)(int of, uint32_t group, const char *name);
    void (*range_leave)(int of);
    /* Writes what a PE of this node is doing, as the predicate of a sentence, or "", to the size
     * bytes at text. how: SHMEMI_DOING_... */
    void (*doing)(int pe, unsigned how, char *text, size_t size);
    /* Called when this PE has left the job and needs no other PE any more. */
    void (*finalized)(void);
    /* Writes the program's buffered output, unless that might wait. */
    void (*flush)(void);
    char *error; /* out: the reason why init failed */
    size_t error_size;
};

/*
 * The core's functions. None of them waits for a peer, except init and finalize: the others return
 * SHMEMI_PENDING or SHMEMI_AGAIN, and the caller waits in C. The caller of a function marked
 * (locked) has locked net_lock. Where a comment names no result, it is SHMEMI_DONE, or
 * SHMEMI_FAILED with the reason in error. A text is written with a closing 0 to the size bytes at
 * text, and cut if it is longer.
 */
struct shmemi_core {
    uint32_t version;
    uint32_t size;       /* of this struct */
    uint32_t state_size; /* of struct shmemi_state */
    uint32_t reserved;
    const char *build; /* version of the build, for the message when they differ */

    /* 0, or another number with the reason in args->error. */
    int (*init)(struct shmemi_state *state, struct shmemi_init_args *args);
    /* Fills the 128 bytes of a unique id; 0, or -1 with the reason in error. May be called before
     * init. */
    int (*uniqueid)(const char *const *environ_, void *id, char *error, size_t error_size);
    void (*finalize)(void);
    /* These ask the launcher to end the job, and return; the caller then ends this process. abort_
     * may be called without a job, and does nothing then. */
    void (*global_exit)(int status);
    void (*abort_)(int status, const char *reason);

    /* Symmetric heap: returns the offset of a new block from the user heap, or below 0
     * SHMEMI_NO_MEMORY or SHMEMI_REPORT_MEMORY: the heap is full, or this PE lacks the memory.
     * Every PE makes the same calls and gets the same offsets. align: bytes, a power of two; 0: the
     * allocator chooses. hints: SHMEM_MALLOC_... */
    int64_t (*heap_alloc)(size_t size, size_t align, long hints);
    int (*heap_free)(int64_t offset); /* SHMEMI_DONE, or SHMEMI_NO_BLOCK */
    /* Sets *old_size. Returns offset if the block was resized in place. Otherwise returns the
     * offset of a new block, and the caller copies the contents and frees the old block. Below 0:
     * it has failed (SHMEMI_NO_BLOCK, SHMEMI_NO_MEMORY or SHMEMI_REPORT_MEMORY). */
    int64_t (*heap_realloc)(int64_t offset, size_t size, size_t *old_size);
    /* The bytes from offset to the end of the block that contains it; 0 if no block is allocated
     * there. */
    size_t (*heap_bytes_from)(int64_t offset);

    /* Network. context: the core's number of a communication context; the default one has 0. post
     * returns one of the statuses of zz_request.h, which says what they mean for an operation. */
    int (*post)(const struct shmemi_host_operation *o); /* (locked) */
    int (*fence)(uint32_t context);                     /* (locked) */
    /* (locked) A call with *ticket 0 begins a quiet for all operations posted before, and sets it;
     * PENDING: poll and call again with the same ticket. */
    int (*quiet)(uint32_t context, uint64_t *ticket);
    /* (locked) Opens a context, and returns the number under which the engine has it: context, or 0
     * if the engine has only the default context, or SHMEMI_FAILED. */
    int (*context_open)(uint32_t context);
    /* (locked) Sets whether small operations of a context share messages from the first one on. */
    void (*batch)(uint32_t context, int on);
    /* Reports (1 or 0) whether NICs can access n bytes at an offset of the user heap of a PE, if
     * the heap is in GPU memory. Of another PE's heap, these are the bytes that the PE has
     * announced. */
    int (*reaches)(int pe, int64_t offset, size_t n);
    /* Called when the program ends. Asks the other PEs to reply when everything that this one has
     * sent has arrived. DONE: all has arrived. PENDING: poll and call again. It does not wait for
     * the lock. From the first call on no failure of the network ends the process. */
    int (*leave)(void);
    /* Tries net_lock itself; returns the number of completions, or -1: another thread has it. */
    int (*poll)(void);

    /* Returns the struct shmemi_device_state for threads of this process, which is valid until
     * finalize. The first call makes the rings. NULL: error has the reason. */
    const void *(*rings)(void);

    /* For GPU memory. These return SHMEMI_DONE when the work is complete, or SHMEMI_FAILED. */
    int (*gpu_move)(void *to, const void *from, size_t n); /* copies from and to any memory */
    int (*gpu_start)(void *to, const void *from,
                     size_t n); /* starts a copy; gpu_settle waits for all */
    int (*gpu_settle)(void);
    /* Like quiet, for operations that kernels have submitted, and without the lock. */
    int (*quiet_rings)(uint64_t *ticket);
    int (*gpu_clear)(void *at, size_t n); /* sets n bytes to 0 */
    /* op: SHMEMI_AMO_...; width: bytes of the word. Sets *fetched to its value before. */
    int (*gpu_amo)(void *at, int op, int width, uint64_t operand, uint64_t compare,
                   uint64_t *fetched);
    int (*gpu_holds)(const void *at); /* 1: it is in the memory of a GPU */
    /* Called before finalize. 1: the program has reset the GPU, which the core has reported, so
     * that memory of the program's context need not be freed. */
    int (*gpu_was_reset)(void);
    int (*gpu_chosen)(void); /* 1: the thread that called init used a GPU already */
    int (*gpu_moved)(void);  /* 1: the calling thread uses another GPU than this PE's */
    /* Finds the driver's allocations (chunks) that contain memory of the program. Sets the unit of
     * their sizes, their bytes before the memory, and all their bytes. gpu_lend or gpu_forget must
     * be called next; the latter forgets the chunks. */
    int (*gpu_find_chunks)(const void *at, size_t n, size_t *granule, size_t *before, size_t *size);
    void (*gpu_forget)(void); /* drops the chunks that were found */
    /* Maps these chunks into a block of the heap, from an offset in the block on, at all PEs.
     * Returns the offset of the block, or -1: then the PEs that have not failed have to call
     * gpu_take_back. */
    int64_t (*gpu_lend)(size_t size, size_t offset);
    int (*gpu_take_back)(int64_t offset); /* unmaps them; offset: of any byte in the block */
    /* Sets *image to the struct shmemi_device_image for kernels, as this process can read it, and
     * *at to its address for kernels. With DONE and *image unchanged this PE runs no kernels. */
    int (*kernels)(const void **image, uint64_t *at);
    /* Publishes the team in a slot to kernels. t has all fields except the memory and the list;
     * pes: the PEs of a team without a stride, else NULL. t NULL: removes the team. */
    int (*team_show)(int slot, const struct shmemi_device_team *t, const int32_t *pes);
    /* To be called before team_show, at all PEs of the team: clears the words that kernels have
     * left in its slot. */
    int (*team_renew)(int slot);

    /* Queues a call on a stream of the program (zz_stream.h). The first call of a job is
     * stream_open, with the file of the library's kernels. */
    int (*stream_open)(const char *file);
    int (*stream_call)(int what, const struct shmemi_stream_call *c, void *stream);
    /* The address and the size of a variable of code that the program has loaded: `handle` is a
     * CUmodule or, if what is SHMEMI_LIBRARY, a CUlibrary. */
    int (*module_variable)(int what, void *handle, char *name, void **at, size_t *size);
    /* The address, for kernels, of the two words by which device code of NVIDIA's archive ends the
     * job: 2 in the first one, the status in the second. 0: there are no kernels. */
    uint64_t (*kernel_exit)(void);
    /* The parts of the proxy channel of such code, made with the memory of kernels if state.archive
     * was set before. parts NULL: kernels may use it from now on. */
    int (*kernel_channel)(struct shmemi_channel *parts);

    /* Counters of this PE (runtime/stats), by the number of a counter and of a NIC, and the PE on
     * which the counted operations were; pe -1: all PEs. The functions return NULL or -1 if there
     * is no such counter or NIC, or if the counter is not counted for each NIC. */
    const char *(*counter_name)(int id);
    int (*counter)(int id, int pe, uint64_t *value);
    int (*counter_nic)(int id, int nic, uint64_t *value);
    const char *(*nic_name)(int nic); /* the result is valid until the next call */

    /* Returns, once, the text of the last call of any thread that failed; called right after it.
     * The next call overwrites the text. */
    const char *(*error)(void);
    /* Returns the PE that is lost because of the last failed call of the engine, or -1, and writes
     * the text of the failure. */
    int (*error_pe)(char *text, size_t size);
    /* Writes what has happened to a lost PE, as the predicate of a sentence. */
    void (*fate)(int pe, char *text, size_t size);
    /* Records that the program knows of all losses so far; returns their number. */
    int (*acknowledge)(void);
    /* Declares a PE lost that another PE has reported as lost; a little later it is lost here, too.
     */
    void (*give_up)(int pe);
    /* Writes the known facts about n PEs for which a wait waits, of `all` such PEs, and about other
     * PEs that are noticeable; "" if there are none. Returns the first of the n PEs that has exited
     * with status 0 during the job, or -1. */
    int (*explain)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* Writes what those PEs are doing, in fewer words, and without the network lock. */
    void (*late)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* Writes one line about this PE to the log. */
    void (*report)(const char *text);
    /* Writes one line to the log that reports a wait for a PE, or, with -1, for no single PE, and
     * adds the last events of the network. */
    void (*report_wait)(int pe, const char *text);
    /* Asks those of n PEs that are on other nodes what they are doing. If n is 0, it asks the PEs
     * of other nodes that are among the first 256 for a sign of life. It also asks the launcher how
     * the n PEs have ended, and some of those whose processes this PE has seen end. If it cannot
     * get the engine's lock, it asks only the launcher. explain and late use the replies. */
    void (*probe)(const int32_t *pes, int n);

    const struct shmemi_mesh *mesh; /* mesh.h: meshes need no job, and may be opened before init */
    const struct shmemi_rma *rma;   /* rma.h: groups of libshmem_rma.so, which need no job either */
};

/* The front's abort function. */
typedef void shmemi_abort_fn(const char *call, const char *remedy, const char *cause, ...);

/* The one symbol that libshmem_core.so exports. By the argument the core ends the job, where no
 * call can return an error, and from its own threads. */
const struct shmemi_core *shmemi_core_table(shmemi_abort_fn *abort_);

#endif
