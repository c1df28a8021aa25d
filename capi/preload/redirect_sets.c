/*
 * redirect_sets.c: arrays pSync and pWrk for the active sets of programs that have shorter ones.
 *
 * Open MPI needs three words of pSync at most, and programs compiled with its header have no more.
 * libshmem counts messages in more words than that, at the same place on all PEs of the set. So
 * each pair of an array and a set gets a slot in memory of the shim, which is symmetric, and the
 * program's array is never touched.
 *
 * The PEs of a set have to agree on the number of the slot when the set is first used, and no other
 * PE takes part. The set's first PE gets the number from a counter on PE 0, and adds an entry to
 * the list in its own memory. The others read that list until the entry is there: the first PE
 * makes the same call sooner or later. Each PE stores the slots of which it has learnt. A slot is
 * never freed: between calls it has its first contents again, so an array that the program frees
 * and allocates anew at the same address can use the slot again.
 */
#define _GNU_SOURCE
#include "redirect.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS 512       /* the pairs of an array and a set that a job can use */
#define SYNC_WORDS 128  /* SHMEM_SYNC_SIZE of libshmem */
#define WORK_BYTES 2048 /* SHMEM_REDUCE_MIN_WRKDATA_SIZE elements of 16 bytes */

/* The array pSync and the active set of a collective operation, whose memory a slot replaces. */
struct key {
    uint64_t at; /* a number for pSync, the same on every PE */
    int32_t start, log_stride, size;
    int32_t unused; /* fills the struct up to a multiple of 8 bytes */
};

/* An entry in a PE's list of slots: which slot serves calls with this pSync and active set. */
struct entry {
    struct key key;
    uint64_t slot;
};

/* The shim's symmetric memory. */
struct pool {
    uint64_t taken;   /* on PE 0: how many slots of the job are in use */
    uint64_t entries; /* in this PE's list, which other PEs read */
    struct entry list[SLOTS];
    struct {
        long sync[SYNC_WORDS];
        char work[WORK_BYTES];
    } slots[SLOTS];
};

const size_t redirect_sets_bytes = sizeof(struct pool);

static struct pool *pool; /* at the same offset in the heap of each PE; NULL before open */
static int me, n_pes;     /* this PE's number and the number of PEs of the job */

/* The slots of which this PE has learnt. Entries are added at the front of the list and do not
 * change, so that lookups need no lock. */
struct known {
    struct entry entry;
    const struct known *next;
};
static _Atomic(const struct known *) known;

/* Held while this PE, as the first of a set, reserves a slot: one thread at a time writes to the
 * pool's list. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Functions of libshmem that this file calls. */
static struct {
    void *(*calloc)(size_t, size_t);
    int (*my_pe)(void), (*n_pes)(void);
    uint64_t (*fetch_inc)(uint64_t *, int), (*fetch)(const uint64_t *, int);
    void (*set)(uint64_t *, uint64_t, int);
    void (*getmem)(void *, const void *, size_t, int);
} ours;

/* Called after init by all PEs: finds libshmem's functions, and allocates the pool of pSync arrays
 * for active sets on the symmetric heap. */
void redirect_sets_open(void)
{
    ours.calloc = redirect_ours("shmem_calloc");
    ours.my_pe = redirect_ours("shmem_my_pe");
    ours.n_pes = redirect_ours("shmem_n_pes");
    ours.fetch_inc = redirect_ours("shmem_uint64_atomic_fetch_inc");
    ours.fetch = redirect_ours("shmem_uint64_atomic_fetch");
    ours.set = redirect_ours("shmem_uint64_atomic_set");
    ours.getmem = redirect_ours("shmem_getmem");
    me = ours.my_pe();
    n_pes = ours.n_pes();
    pool = ours.calloc(1, sizeof *pool); /* returns when all PEs have allocated it */
    if (!pool)
        redirect_refuse("shmem_init",
                        "no %zu bytes on the symmetric heap for the active sets (make it larger "
                        "with SHMEM_SYMMETRIC_SIZE)",
                        sizeof *pool);
}

/* Frees this PE's list of slots. Finalize has freed the pool with the symmetric heap. */
void redirect_sets_close(void)
{
    const struct known *k = atomic_exchange(&known, NULL);
    while (k) {
        const struct known *next = k->next;
        free((void *)k);
        k = next;
    }
    pool = NULL;
}

/* ---------------------------------------------------------------- the place */

/* An address; the answers are where the program is loaded, and whether the address is within it. */
struct place {
    uintptr_t at, bias;
    bool within;
};

/* Callback of dl_iterate_phdr, which passes the program first: sets in the struct place where the
 * program is loaded, and whether the address is within it. Returns 1, which ends the iteration. */
static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct place *p = arg;
    (void)size;
    p->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && p->at - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
            p->within = true;
    }
    return 1;
}

/* Returns a number for a symmetric address that is the same on all PEs, which may have loaded the
 * program and mapped the heap at other addresses: twice the distance from the program's start plus
 * 1 for an address in the program, and twice the distance from the pool for one on the heap. */
static uint64_t common_number(uintptr_t at)
{
    struct place p = {.at = at};
    dl_iterate_phdr(note_program, &p);
    return p.within ? (uint64_t)(at - p.bias) << 1 | 1 : (uint64_t)(at - (uintptr_t)pool) << 1;
}

/* ------------------------------------------------------------- the agreement */

/* Reports whether two calls use the same pSync and active set. */
static bool same_key(const struct key *a, const struct key *b)
{
    return a->at == b->at && a->start == b->start && a->log_stride == b->log_stride &&
           a->size == b->size;
}

/* Returns the slot for key, if it is in this PE's list; otherwise NULL. */
static const struct known *find_slot(const struct key *key)
{
    const struct known *k = atomic_load_explicit(&known, memory_order_acquire);
    while (k && !same_key(&k->entry.key, key))
        k = k->next;
    return k;
}

/* Called by the set's first PE, with the mutex locked: reserves a free slot for key, and adds it to
 * the list that the other PEs read. Returns its number. */
static uint64_t reserve_slot(const struct key *key, const char *call)
{
    uint64_t slot = ours.fetch_inc(&pool->taken, /* pe */ 0);
    if (slot >= SLOTS)
        redirect_refuse(call,
                        "the job uses more than %d pairs of an array pSync and an active set "
                        "(use the same arrays again, or compile the program with libshmem's oshcc)",
                        SLOTS);
    uint64_t n = pool->entries; /* no other thread writes to it */
    pool->list[n] = (struct entry){*key, slot};
    ours.set(&pool->entries, n + 1, me);
    return slot;
}

/* Called by the set's other PEs: reads the first PE's list until it has a slot for key, and returns
 * its number. The first PE may be minutes late, so the reads become less frequent. */
static uint64_t learn_slot(const struct key *key, const char *call)
{
    struct timespec pause = {.tv_nsec = 20000}; /* doubled until it is a millisecond or more */
    uint64_t seen = 0;
    for (long waited = 0;; waited += pause.tv_nsec / 1000) {
        uint64_t n = ours.fetch(&pool->entries, key->start);
        for (; seen < n; seen++) {
            struct entry e;
            ours.getmem(&e, &pool->list[seen], sizeof e, key->start);
            if (same_key(&e.key, key))
                return e.slot;
        }
        if (waited > 60000000) { /* a minute, in us */
            preload_say("redirect: %s (PE %d): waits for PE %d to call it with the same active set "
                        "and pSync",
                        call, me, key->start);
            waited = 0;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

/* Gets the number of the slot (arrays pSync and pWrk of libshmem's size) for key that all PEs of
 * the set use, adds it to this PE's list, and returns its entry there. */
static const struct known *agree_on_slot(const struct key *key, const char *call)
{
    struct known *k = malloc(sizeof *k);
    if (!k)
        redirect_refuse(call, "no memory for an active set (the process has none left)");
    uint64_t slot = key->start == me ? reserve_slot(key, call) : learn_slot(key, call);
    *k = (struct known){{*key, slot}, atomic_load(&known)};
    while (!atomic_compare_exchange_weak(&known, &k->next, k))
        ;
    return k;
}

/* Finds libshmem's arrays for the program's array pSync and an active set. At the first call with
 * both, agrees on a slot with the other PEs of the set. Returns false, and stores nothing, if the
 * call needs no arrays of libshmem's size or libshmem will refuse it. */
bool redirect_sets_find(int start, int log_stride, int size, uintptr_t sync, const char *call,
                        uintptr_t *our_sync, uintptr_t *our_work)
{
    bool valid = start >= 0 && log_stride >= 0 && log_stride < 31 && size > 0 &&
                 start + (size - 1) * ((int64_t)1 << log_stride) < n_pes;
    int64_t distance = (int64_t)me - start;
    /* For a set of all PEs libshmem does not read pSync, and it ends the program for a set that is
     * invalid or does not contain this PE. */
    if (!pool || size == n_pes || !valid || distance < 0 ||
        distance % ((int64_t)1 << log_stride) != 0 || distance >> log_stride >= size || !sync)
        return false;
    struct key key = {common_number(sync), start, log_stride, size, 0};
    const struct known *k = find_slot(&key);
    if (!k) {
        /* At the set's first PE one thread at a time adds an entry to the pool's list. At the other
         * PEs the thread waits for the first PE, and must not lock the mutex meanwhile: the first
         * PE may wait for a set whose first PE this one is. */
        bool first = start == me;
        if (first)
            pthread_mutex_lock(&mutex);
        k = find_slot(&key);
        if (!k)
            k = agree_on_slot(&key, call);
        if (first)
            pthread_mutex_unlock(&mutex);
    }
    *our_sync = (uintptr_t)pool->slots[k->entry.slot].sync;
    *our_work = (uintptr_t)pool->slots[k->entry.slot].work;
    return true;
}
