/*
 * activeset_messages.c: the members of an active set, and its messages.
 */
#include "activeset_messages.h"

#include "address.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* An active set that the program has used, and its team. Programs use few sets and use them often,
 * so an entry is not freed before finalize. Entries are added at the front of the list and never
 * change, so that lookups take no lock. */
struct entry {
    int start, log_stride, size;
    struct shmemi_team team;
    struct entry *next;
};

static struct entry *entries; /* the list; its first entry is the newest */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* held while an entry is added */

/* Searches the list of active sets, without a lock; NULL if it does not have the set. */
static const struct entry *find_set(int start, int log_stride, int size)
{
    const struct entry *e = shmemi_observe(&entries);
    while (e != NULL && (e->start != start || e->log_stride != log_stride || e->size != size))
        e = e->next;
    return e;
}

/* Makes the entry of an active set, with a team of its PEs that has no slot, which is symmetric
 * memory that the library gives to other teams. Ends the program if there is no memory. */
static struct entry *make_set(int start, int log_stride, int size, const char *call)
{
    struct entry *e = calloc(1, sizeof *e);
    int32_t *pes = malloc((size_t)size * sizeof *pes);
    for (int i = 0; pes != NULL && i < size; i++)
        pes[i] = start + i * (1 << log_stride);
    if (e != NULL) {
        *e = (struct entry){start, log_stride, size, {.n = size, .pes = pes, .slot = -1}, NULL};
        if (pes != NULL && shmemi_team_place(&e->team) == 0)
            return e;
    }
    shmemi_abort(call, "free some", "no memory for the list of %d PEs", size);
}

/* Returns the team of an active set, from the list of sets. At the first call with a set it adds
 * the set to the list. It searches first without the lock, and once more with it, because another
 * thread may have added the set meanwhile. */
static const struct shmemi_team *team_of_set(int start, int log_stride, int size, const char *call)
{
    const struct entry *e = find_set(start, log_stride, size);
    if (e != NULL)
        return &e->team;
    pthread_mutex_lock(&mutex);
    e = find_set(start, log_stride, size);
    if (e == NULL) {
        struct entry *made = make_set(start, log_stride, size, call);
        made->next = entries;
        shmemi_publish(&entries, made);
        e = made;
    }
    pthread_mutex_unlock(&mutex);
    return &e->team;
}

/* At finalize: frees the list of active sets. */
void shmemi_activesets_close(void)
{
    for (struct entry *e = entries, *next; e != NULL; e = next) {
        next = e->next;
        shmemi_team_free(&e->team);
        free(e);
    }
    entries = NULL;
}

/* ------------------------------------------------------------------- pSync */

/* Returns the present value of a word of this PE's pSync, which may be in the memory of a GPU. */
static uint64_t word_now(const long *word, const char *call)
{
    return shmemi_on_gpu(word) ? shmemi_read_gpu(word, sizeof *word, call)
                               : (uint64_t)shmemi_observe(word);
}

/*
 * Under SHMEM_CHECKS=full, ends the job unless the words of pSync have values that they can have
 * when a call begins. Other PEs of the set may have sent messages already, but no more than one
 * each, and none to words that no phase uses. A word from SHMEMI_ROUND on may have any positive
 * value: a number (shmemi_activeset_send_number).
 */
static void check_initialised(const struct shmemi_team *t, const long *psync, const char *call)
{
    int rounds = 0;
    while (1 << rounds < t->n)
        rounds++;
    for (int i = 0; i < SHMEMI_SYNC_WORDS; i++) {
        int64_t now = (int64_t)word_now(psync + i, call);
        bool used = i < SHMEMI_ROUND || (i - SHMEMI_ROUND) % SHMEMI_ROUNDS < rounds;
        if (now == 0 || (used && now > 0 && (i >= SHMEMI_ROUND || now < t->n)))
            continue;
        shmemi_abort(
            call,
            "set all SHMEM_SYNC_SIZE elements to SHMEM_SYNC_VALUE on every PE, and meet in "
            "a barrier, before the first call",
            "element %d of pSync %p is %lld", i, (const void *)psync, (long long)now);
    }
}

/* Checks the arguments of a collective call on an active set, and returns the set's team: the world
 * team if the set is all PEs, else *set_team, a copy of the set's team in the list, with this
 * call's pSync. */
struct shmemi_team *shmemi_activeset_open(struct shmemi_team *set_team, int start, int log_stride,
                                          int size, long *psync, const char *call)
{
    int n = (int)shmemi_state.n_pes;
    if (n == 0)
        shmemi_refuse_uninitialised(call);
    /* PE numbers are of 31 bits, so with a stride of 2^31 no second PE exists. */
    if (start < 0 || log_stride < 0 || log_stride > 30 || size < 1 ||
        start + ((int64_t)size - 1) * ((int64_t)1 << log_stride) >= n)
        shmemi_abort(call, "name PEs that exist",
                     "the active set of %d PEs from %d with a stride of 2^%d is not within %d PEs",
                     size, start, log_stride, n);
    struct shmemi_team *t = &shmemi_world;
    if (size < n) {
        shmemi_check_symmetric("pSync", psync, SHMEMI_SYNC_WORDS * sizeof *psync, call);
        *set_team = *team_of_set(start, log_stride, size, call);
        set_team->psync = psync;
        t = set_team;
    }
    if (t->me < 0)
        shmemi_abort(call, "call it on the PEs of the set only",
                     "PE %d is not in the active set of %d PEs from %d with a stride of 2^%d",
                     shmemi_state.my_pe, size, start, log_stride);
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL) && t != &shmemi_world)
        check_initialised(t, psync, call);
    return t;
}

/* ---------------------------------------------------------------- messages */

/* Sends a message: adds one to a word of pSync at another member. */
void shmemi_activeset_message(struct shmemi_team *t, int rank, int word, const char *call)
{
    if (SHMEMI_LIKELY(shmemi_collective_unbroken()))
        shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_ADD, t->psync + word, 1, /* compare */ 0,
                     t->pes[rank], call);
}

/* A put of up to this many bytes copies its source when it is posted, so that no quiet has to wait
 * for the source: a sum of one element between two hosts took 75 us with that quiet, and takes 20
 * without. Larger puts are nonblocking, so that puts to several PEs are under way at once. */
#define COPIED_BYTES ((size_t)2048)

/* Waits until puts of n bytes to other members no longer read their source. Smaller ones were
 * copied when they were posted. Within a node, and without a GPU, the CPU has copied all of them
 * before the put returned. */
void shmemi_activeset_release(size_t n, const char *call)
{
    if (n > COPIED_BYTES && (shmemi_state.networked || shmemi_state.gpu))
        shmemi_quiet(SHMEM_CTX_DEFAULT, call);
}

/* Writes n bytes to another member and then adds one to a word of its pSync. Up to COPIED_BYTES are
 * copied before this returns; the put of more is nonblocking. */
void shmemi_activeset_message_data(struct shmemi_team *t, int rank, int word, void *dest,
                                   const void *source, size_t n, const char *call)
{
    if (SHMEMI_LIKELY(shmemi_collective_unbroken()))
        shmemi_put_signal(SHMEM_CTX_DEFAULT, dest, source, n, (uint64_t *)(t->psync + word), 1,
                          SHMEM_SIGNAL_ADD, t->pes[rank], n > COPIED_BYTES, call);
}

/* A wait of await: until a word of this PE's pSync is at least want. */
struct awaited {
    const long *word;
    uint64_t want;
    const char *call;
};

/* Describes a wait of await, for the report of a long wait: how many messages it needs, in which
 * word of pSync they are counted, and how many have arrived. */
static void describe_await(const void *subject, char *text, size_t size)
{
    const struct awaited *a = subject;
    snprintf(text, size, "for %llu messages in pSync at %p, has %llu", (unsigned long long)a->want,
             (const void *)a->word, (unsigned long long)word_now(a->word, a->call));
}

/* Waits until a word of this PE's pSync is at least want, or a member of the set is lost. */
static void await(const long *word, uint64_t want, const char *call)
{
    struct awaited a = {word, want, call};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_await, &a, word_now(word, call) >= want,
                    .whom = SHMEMI_MEMBERS);
}

/* Waits for the n messages of this phase of the call, which a word of pSync counts, and subtracts
 * them from the word. A larger count in SHMEMI_DATA comes from a PE that has begun the next call
 * with the same pSync. After a loss the word may be below n, so nothing is subtracted. */
void shmemi_activeset_await(struct shmemi_team *t, int word, uint64_t n, const char *call)
{
    long *at = t->psync + word;
    if (n == 0)
        return;
    await(at, n, call);
    if (!shmemi_collective_unbroken())
        return;
    uint64_t had =
        shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_FETCH_ADD, at, -n, 0, shmemi_state.my_pe, call);
    bool reused = word == SHMEMI_DATA && had > n;
    if (SHMEMI_UNLIKELY(reused && shmemi_state.checks == SHMEMI_CHECKS_FULL))
        shmemi_abort(
            call, "use another pSync, or wait until the call has ended on every PE",
            "pSync %p has %llu messages where %llu are due: a PE is already using it again",
            (const void *)t->psync, (unsigned long long)had, (unsigned long long)n);
}

/* Sends a number to a member, in a word of its pSync: the word is set to the number plus one,
 * because 0 means that no message has arrived. */
void shmemi_activeset_send_number(struct shmemi_team *t, int rank, int word, uint64_t value,
                                  const char *call)
{
    if (SHMEMI_LIKELY(shmemi_collective_unbroken()))
        shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SET, t->psync + word, value + 1, /* compare */ 0,
                     t->pes[rank], call);
}

/* Waits for the number that another member has sent in a word of pSync, and sets the word to 0
 * again for the next call. Returns 0 after the loss of a PE. */
uint64_t shmemi_activeset_receive_number(struct shmemi_team *t, int word, const char *call)
{
    await(t->psync + word, 1, call);
    if (!shmemi_collective_unbroken())
        return 0;
    return shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SWAP, t->psync + word, /* operand */ 0,
                        /* compare */ 0, shmemi_state.my_pe, call) -
           1;
}

/* Begins a sync of the members of this node: all report to the first one. Returns whether this PE
 * is the first one, which releases the others; they return released. */
bool shmemi_activeset_gather_node(struct shmemi_team *t, const char *call)
{
    int leader = t->near[0];
    if (t->me != leader) {
        shmemi_activeset_message(t, leader, SHMEMI_ARRIVED, call);
        shmemi_activeset_await(t, SHMEMI_RELEASED, 1, call);
        return false;
    }
    shmemi_activeset_await(t, SHMEMI_ARRIVED, t->n_near - 1, call);
    return true;
}

/* Releases the other members of this node from a sync. */
static void release_node(struct shmemi_team *t, const char *call)
{
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_activeset_message(t, t->near[i], SHMEMI_RELEASED, call);
}

/* Syncs the members of an active set that are on this node. */
void shmemi_activeset_sync_node(struct shmemi_team *t, const char *call)
{
    if (shmemi_activeset_gather_node(t, call))
        release_node(t, call);
}

/* Syncs the members of an active set: the first members of all nodes exchange messages at distances
 * of 1, 2, 4 and so on (dissemination) before they release the members of their node. */
void shmemi_activeset_sync_members(struct shmemi_team *t, const char *call)
{
    if (!shmemi_activeset_gather_node(t, call))
        return;
    int round = SHMEMI_ROUND;
    for (uint32_t distance = 1; distance < t->n_nodes; distance *= 2, round++) {
        shmemi_activeset_message(t, t->leaders[(t->node + distance) % t->n_nodes], round, call);
        shmemi_activeset_await(t, round, 1, call);
    }
    release_node(t, call);
}
