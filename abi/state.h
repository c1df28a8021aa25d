/*
 * state.h: what libshmem.so and libshmem_core.so share.
 *
 * The front (libshmem.so, C) owns one struct shmemi_state. The core
 * (libshmem_core.so, Go) fills it at init and empties it at finalize; between
 * the two the front reads it on every call without a lock. Both files are
 * built from one source tree, and shmemi_core_open refuses a partner whose
 * version or struct sizes differ.
 */
#ifndef SHMEMI_STATE_H
#define SHMEMI_STATE_H

#include "zz_fabric.h"
#include "zz_live.h"
#include "zz_request.h"

#include <stddef.h>
#include <stdint.h>

#define SHMEMI_ABI_VERSION 1u
#define SHMEMI_CACHE_LINE 64
#define SHMEMI_PAGE 4096

/*
 * What a PE does, for the reports of PEs that wait for it. The PE writes it where something
 * has become long or has ended, never on a fast path. Readers are the PEs of its node, also
 * after its process has ended. Times are of CLOCK_MONOTONIC, in nanoseconds.
 */
enum { SHMEMI_LONG_WAITS = 4, SHMEMI_LATE = 4 };

enum shmemi_stage {
    SHMEMI_STAGE_NONE,      /* before the end of shmem_init */
    SHMEMI_STAGE_RUNNING,   /* from then on */
    SHMEMI_STAGE_PARTING,   /* behind the barrier of shmem_finalize */
    SHMEMI_STAGE_FINALIZED, /* shmem_finalize needs no other PE any more */
};

/* A wait of one thread that has become long. The thread that has the entry makes turn odd
 * while it writes; a reader that finds turn odd, or changed, reads again. */
struct shmemi_long_wait {
    uint32_t taken; /* 1: a thread has the entry */
    uint32_t turn;
    uint64_t since; /* 0: no wait */
    char call[48];
    char what[160]; /* the wait is for */
    char why[320];  /* what the PEs do that it waits for, or "" */
};

/* What is to be said of a PE: of one whose process has ended, or also what the PEs do that it
 * waits for. */
enum { SHMEMI_DOING_GONE = 1, SHMEMI_DOING_DEEP = 2 };

struct shmemi_activity {
    uint32_t stage; /* enum shmemi_stage */
    uint32_t exits; /* 1: the process is in exit(), or main has returned */
    int32_t status; /* with it */
    uint32_t left_turn;
    uint64_t stage_since, exit_since;
    uint64_t left; /* when the last long wait ended, 0: there was none */
    char left_call[48];
    struct shmemi_long_wait waits[SHMEMI_LONG_WAITS];
};

/*
 * One PE's control words, in the page just below its user heap, so that the
 * fast path finds them from the heap base that it has loaded anyway. Every PE
 * of the node maps the page.
 */
struct shmemi_ctl {
    /* Written by the owner before it sleeps, cleared by whoever wakes it. A
     * writer that has changed the owner's memory looks here, without a fence:
     * the sleeper pays for the order with a process-wide membarrier. */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t sleepers;
    /* The futex word: incremented by each waker. */
    uint32_t wakes;
    /* Node barrier, used in the control page of the node's first PE only. */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t arrived;
    _Alignas(SHMEMI_CACHE_LINE) uint32_t released;
    /* This PE's own barrier flag, for the pairwise barrier of two PEs. */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t pairwise;
    /* How many barriers the PE has entered, for reports. */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t epoch;
    _Alignas(SHMEMI_CACHE_LINE) struct shmemi_activity activity;
    char rest[SHMEMI_PAGE - 5 * SHMEMI_CACHE_LINE - sizeof(struct shmemi_activity)];
};
_Static_assert(sizeof(struct shmemi_ctl) == SHMEMI_PAGE, "the control page is one page");

/* Answers of the heap's functions below 0. shmemi_core.error has the text of a failed
 * allocation; SHMEMI_TELL_MEMORY is the one that this PE prints. */
enum { SHMEMI_NO_MEMORY = -1, SHMEMI_NO_BLOCK = -2, SHMEMI_TELL_MEMORY = -3 };

/* Small reductions: up to so many PEs write to each other directly (exchange.c), and
 * so many bytes are a slot. */
enum { SHMEMI_DIRECT_PES = 16, SHMEMI_SLOT = 2048 };

/* The same of a team that is not the world. */
enum { SHMEMI_TEAM_SLOT = 512 };

/*
 * The groups of calls that a profiler may be shown as ranges (SHMEM_NVTX), in the order
 * of the setting's words: config.Ranges.
 */
enum {
    SHMEMI_RANGE_INIT = 1 << 0,
    SHMEMI_RANGE_ALLOC = 1 << 1,
    SHMEMI_RANGE_COLL = 1 << 2,
    SHMEMI_RANGE_WAIT = 1 << 3,
    SHMEMI_RANGE_WAIT_ON_STREAM = 1 << 4,
    SHMEMI_RANGE_TEST = 1 << 5,
    SHMEMI_RANGE_MEMORDER = 1 << 6,
    SHMEMI_RANGE_QUIET_ON_STREAM = 1 << 7,
    SHMEMI_RANGE_ATOMIC_FETCH = 1 << 8,
    SHMEMI_RANGE_ATOMIC_SET = 1 << 9,
    SHMEMI_RANGE_RMA_BLOCKING = 1 << 10,
    SHMEMI_RANGE_RMA_NONBLOCKING = 1 << 11,
    SHMEMI_RANGE_PROXY = 1 << 12
};

/* Whose ranges are those of a thread: the program's calls, or the proxy's work. */
enum { SHMEMI_RANGES_OF_CALLS, SHMEMI_RANGES_OF_PROXY, SHMEMI_RANGES_OF };

/* How much is checked (SHMEM_CHECKS). */
enum { SHMEMI_CHECKS_OFF, SHMEMI_CHECKS_ON, SHMEMI_CHECKS_FULL };

/*
 * A range of the program's globals and statics. Their pages are in the memory file of
 * the node, below the rest of the PE's internal area, and mapped over where the program
 * has them: so a static has an offset from the user heap as everything else, and the
 * network, the proxy and the peers know nothing of it.
 */
struct shmemi_static {
    uintptr_t start;
    size_t size;
    int64_t offset; /* of start from the user heap: below 0 */
};
enum { SHMEMI_STATICS = 8 };

struct shmemi_core;
struct shmemi_stream_call;
struct shmemi_device_team;

struct shmemi_state {
    /* Read by every call; written at init and finalize only. */
    uint32_t n_pes; /* 0 before init and after finalize */
    int32_t my_pe;
    uintptr_t heap_base; /* of this PE's user heap */
    size_t heap_size;
    /* Tables of n_pes entries.
     * fast_base: near_base for the fast path. All NULL under SHMEM_CHECKS=full,
     * where buffers may be in GPU memory, and where ranges of puts, gets or atomics
     * are shown, so that every access takes the slow path, where these are.
     * peer_base: where the peer's internal area ends in this process, and its user
     * heap would begin, or NULL when it is not on this node.
     * near_base: the same, or NULL when its user heap is not main memory of this
     * node.
     * mapped_base: where the copy engine reaches its user heap; only with a GPU. */
    char **fast_base;
    char **peer_base;
    char **near_base;
    char **mapped_base;
    const struct shmemi_core *core;
    uint32_t spin;   /* polls before a waiter yields */
    uint32_t poll;   /* how many of those a poll of the network counts for */
    uint32_t yields; /* yields before a waiter sleeps */
    uint32_t checks;
    uint32_t unseen;    /* 1 in a job, unless ranges of fences and quiets are shown */
    uint32_t ranges;    /* SHMEMI_RANGE_...: what a profiler is shown */
    uint32_t node_pes;  /* PEs on this node */
    uint32_t node_rank; /* this PE's number among them */
    uint32_t n_nodes;
    const int32_t *node_members; /* node_pes entries: their PE numbers, ascending */
    const int32_t *node_leaders; /* n_nodes entries: the first PE of each node */
    uint32_t node;               /* this PE's entry in node_leaders */
    const int32_t *node_of;      /* n_pes entries: each PE's entry in node_leaders */
    uint32_t networked;          /* some PE is not on this node */
    uint32_t wakeable;           /* membarrier works: sleepers may trust writers */
    uint32_t gpu;                /* this PE has a GPU: buffers may be in its memory */
    uint32_t copies_apart;       /* the proxies' copies wait for no kernel of the program */
    uint32_t p2p;                /* its kernels may use mapped_base of other PEs */
    uint32_t grows_together;     /* growing the heap takes all PEs of the node at once */
    uint64_t timeout_ns;         /* a wait longer than this is reported, 0: never */
    uint64_t *inbox;             /* n_pes message counters in this PE's internal area */
    char *scratch;               /* this PE's internal buffers for collectives */
    size_t inbox_offset;         /* of inbox below the user heap, the same on every PE */
    size_t scratch_size;
    struct shmemi_live *live;
    size_t teams_offset; /* of the areas of teams below the user heap */
    size_t team_size;    /* of one: words, scratch, agreements */
    size_t agree_size;   /* of those; the world's are in one more area, whose words say
                          * which PEs this one knows to be lost */
    uint32_t max_teams;  /* how many there are but that */
    size_t net_chunk;    /* the most bytes of one put or get between nodes */
    int32_t thread_level;
    uint32_t init_count;

    /* Filled by the core: the memory file that has this PE's user heap, and where; -1 where
     * the heap is in the memory of a GPU. */
    int32_t heap_fd;
    uint64_t heap_place;
    /* Filled by the core: where the front is to put the program's statics, or why they
     * stay the program's own. Then the front sets n_statics. */
    int32_t statics_fd;     /* the memory file, or -1 */
    uint64_t statics_place; /* of this PE's area in it */
    int64_t statics_offset; /* of the area from the user heap */
    char statics_why[192];  /* "", or a cause and a remedy, each ending in 0 */
    uint32_t n_statics;
    struct shmemi_static statics[SHMEMI_STATICS];

    /* Written by a thread of the core when a PE is lost: lost[pe] becomes 1, and
     * fast_base[pe] NULL, so that the fast path leaves it to the slow one; then the
     * PE is appended to losses, and n_lost counts it, with release. Both arrays have
     * n_pes entries and live from init to finalize. Without on_failure return the
     * job ends instead, and all stay as they are. */
    uint8_t *lost;
    int32_t *losses;
    uint32_t n_lost;
    uint32_t survives; /* SHMEM_ON_FAILURE=return */
    uint32_t asked;    /* reports that somebody asked for by a signal: each waiter tells */
    int32_t ask_fd;    /* an eventfd of the core's that wants to know, or 0 */

    /* Written while the program runs. */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t gpu_moving; /* copies were begun and not waited for */
    uint32_t kernel_rings;                           /* kernels push operations into rings */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t net_lock;   /* around the endpoint and its queue */
    uint32_t net_wanted;                             /* threads that found it taken */
    _Alignas(SHMEMI_CACHE_LINE) uint32_t pollers;    /* callers that poll the network */
    uint32_t napping; /* 1 while the proxy naps because of them; futex word */
};

/* A symmetric address below heap_base belongs to the internal area; offsets on
 * the wire are from the start of the user heap and may be negative. */

struct shmemi_init_args {
    int requested;
    int provided;
    int kernels; /* the program has some that include shmem/shmem.cuh */
    /* The program's statics: bytes of whole pages, and what has to be the same on PEs
     * whose statics are symmetric; or no bytes, and why. */
    uint64_t statics_size;
    const char *statics_like;
    const char *statics_cause;
    const char *statics_remedy;
    const char *const
        *environ_; /* C's environ: Go's copy is made at load and misses later changes */
    /* What the program gave to shmemx_init_attr: the 128 bytes of a unique id, or NULL, and
     * with it this PE's number and that of the PEs. */
    const void *uid;
    int uid_pe;
    int uid_n_pes;
    const void *mpi_comm; /* or the address of an MPI_Comm */
    /* The front's abort function, for the core's own threads. */
    void (*abort_)(const char *call, const char *remedy, const char *cause, ...);
    /* Answers which of these groups of ranges there will be: none without a profiler that
     * listens. -1: this library cannot show any. The thread is in a range from here on, if
     * init is one. */
    int (*ranges)(uint32_t groups);
    /* The thread enters a range, and leaves the one that it entered last. */
    void (*range_enter)(int of, uint32_t group, const char *name);
    void (*range_leave)(int of);
    /* Writes what a PE of this node does, as the end of a sentence about it, or "". how:
     * SHMEMI_DOING_... */
    void (*doing)(int pe, unsigned how, char *text, size_t size);
    /* From now on this PE needs no other one to finalize. */
    void (*finalized)(void);
    char *error; /* out: why init failed */
    size_t error_size;
};

/*
 * The core's functions. None of them waits for a peer, except init and
 * finalize; they answer SHMEMI_PENDING or SHMEMI_AGAIN and the caller waits in
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
    /* Answers offset when the block was resized in place; else a new block, and
     * the caller copies and frees the old one; or SHMEMI_NO_BLOCK. */
    int64_t (*heap_realloc)(int64_t offset, size_t size, size_t *old_size);
    /* The block that offset lies in and the bytes from offset to its end; 0
     * where no block is allocated. */
    size_t (*heap_room)(int64_t offset);

    /* Network. stream: ordered and completed by itself; that of the default context is
     * 0. offset: in the target's user heap. */
    int (*put)(uint32_t stream, int pe, int64_t offset, const void *source, size_t n,
               struct shmemi_request *r); /* (locked) */
    int (*get)(uint32_t stream, int pe, int64_t offset, void *dest, size_t n,
               struct shmemi_request *r); /* (locked) */
    int (*amo)(uint32_t stream, int pe, int64_t offset, int op, int width, uint64_t operand,
               uint64_t compare, void *fetch, struct shmemi_request *r); /* (locked) */
    int (*put_signal)(uint32_t stream, int pe, int64_t offset, const void *source, size_t n,
                      int64_t signal_offset, uint64_t signal, int op,
                      struct shmemi_request *r); /* (locked) */
    int (*fence)(uint32_t stream);               /* (locked) */
    /* (locked) A call with *ticket 0 begins a quiet for all that was posted
     * before, and sets it; PENDING: poll and call again with the same ticket. */
    int (*quiet)(uint32_t stream, uint64_t *ticket);
    /* (locked) Begins to use a stream, and answers the one that there is for it:
     * itself, 0 where there are no others, or SHMEMI_FAILED. */
    int (*context_open)(uint32_t stream);
    /* (locked) Whether small operations of a stream are to share messages from the
     * first one on. */
    void (*batch)(uint32_t stream, int on);
    int (*poll)(void); /* tries the lock itself; answers the number of completions, or -1: busy */

    /* The struct shmemi_device_state for threads of this process; makes the
     * rings when it is called first. NULL: error has the reason. */
    const void *(*rings)(void);

    /* With a GPU. These answer SHMEMI_DONE when it is done, or SHMEMI_FAILED. */
    int (*gpu_move)(void *to, const void *from, size_t n);  /* wherever either is */
    int (*gpu_start)(void *to, const void *from, size_t n); /* begins; gpu_settle waits for all */
    int (*gpu_settle)(void);
    /* As quiet, but for what kernels pushed that have ended, and without the lock. */
    int (*quiet_rings)(uint64_t *ticket);
    int (*gpu_clear)(void *at, size_t n);
    int (*gpu_amo)(void *at, int op, int width, uint64_t operand, uint64_t compare,
                   uint64_t *fetched);
    int (*gpu_holds)(const void *at); /* 1: it is in the memory of a GPU */
    /* For finalize, which comes next. 1: the program has reset the GPU, which the core has told,
     * and nothing of the program's context is left to be given back. */
    int (*gpu_reset)(void);
    /* The chunks that memory of a GPU of the program's lies in, for gpu_lend, which comes
     * next, or gpu_forget; their unit, and how much of them there is, before the memory
     * and in all. */
    int (*gpu_look)(const void *at, size_t n, size_t *granule, size_t *before, size_t *size);
    void (*gpu_forget)(void);
    /* Maps them from an offset on into a block of the heap, at all PEs; answers where the
     * block begins, or -1. */
    int64_t (*gpu_lend)(size_t size, size_t offset);
    int (*gpu_take_back)(int64_t offset); /* of a byte in the block */
    /* The struct shmemi_device_image for kernels, as this process can read it, and
     * in *at its address for kernels. DONE with an image of NULL: this PE runs no
     * kernels. */
    int (*kernels)(const void **image, uint64_t *at);
    /* Tells kernels of the team in a slot, of which t has all but the memory and the
     * list; pes: of one that follows no rule, else NULL. t NULL: it is no more. */
    int (*team_show)(int slot, const struct shmemi_device_team *t, const int32_t *pes);
    /* Before that, at all PEs of the team: what kernels have left in its slot goes. */
    int (*team_renew)(int slot);

    /* What a stream of the program does (zz_stream.h). The first call of a job is
     * stream_open, with the file of the library's kernels. */
    int (*stream_open)(const char *file);
    int (*stream_call)(int what, const struct shmemi_stream_call *c, void *stream);
    /* Where code that the program has loaded keeps the job's state. */
    int (*module_job)(int what, void *handle, void **at, size_t *size);

    /* Counters of this PE (runtime/stats): 0, or there is none. pe -1: all. */
    const char *(*counter_name)(int id);
    int (*counter)(int id, int pe, uint64_t *value);
    int (*counter_nic)(int id, int nic, uint64_t *value);
    const char *(*nic_name)(int nic); /* valid until the next call */

    /* Text of the last failure of this thread's call. */
    const char *(*error)(void);
    /* The PE that the last failed call of the engine found lost, or -1; with the
     * text of the failure. */
    int (*error_pe)(char *text, size_t size);
    /* What became of a lost PE, as the end of a sentence. */
    void (*fate)(int pe, char *text, size_t size);
    /* The program knows of all losses so far, which it is told the number of. */
    int (*acknowledge)(void);
    /* Somebody else knows that a PE is lost: so it is, a little later, here too. */
    void (*give_up)(int pe);
    /* What is known of n PEs that a wait is for, the first of `all`, and of other PEs that
     * stand out; "" if nothing. */
    void (*explain)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* What those PEs do, in fewer words, and without a lock of the network. */
    void (*late)(const int32_t *pes, int n, int all, char *text, size_t size);
    /* Says something about this PE, in one line, where the log goes. */
    void (*report)(const char *text);
    /* The same of a wait for a PE, or -1, with the last events of the network below. */
    void (*tell)(int pe, const char *text);
    /* Asks n PEs over the network whether they are there and what they do, n 0: asks all
     * whether they are there; and the launcher which of them have ended. The answers are for
     * explain and late. */
    void (*probe)(const int32_t *pes, int n);
};

/* The one symbol that libshmem_core.so exports. */
const struct shmemi_core *shmemi_core_table(void);

#endif
