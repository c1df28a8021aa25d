/*
 * activeset_reduce.c: reductions on active sets that are not all PEs of the job.
 *
 * Few elements go through pWrk: the first member of each node combines those of its node, these
 * leaders combine in pairs, and each writes the result to the members of its node. On one node all
 * members combine in pairs. More elements need other memory, and a set has none: they go in dest,
 * by columns (column_dest.c: the k-th members of all nodes reduce the k-th share of the elements)
 * or, with one PE on each node, by blocks; otherwise each PE reduces a share, for which it reads
 * the sources of all members (shmemi_coll_reduce_shares).
 */
#include "activeset_reduce.h"

#include "activeset_messages.h"
#include "address.h"
#include "barrier.h"
#include "collective_arguments.h"
#include "column_dest.h"
#include "combine_members.h"
#include "failure.h"
#include "gpu.h"
#include "model.h"
#include "reduce.h"

/* ROOM: how many elements pWrk has at least, of any type. WIDEST: the bytes of the largest element.
 */
enum { ROOM = SHMEM_REDUCE_MIN_WRKDATA_SIZE, WIDEST = 16 };
/* reduce_few returns while puts from its local array acc may be under way. So each of them has to
 * be small enough that it is copied when it is posted (COPIED_BYTES in activeset_messages.c). */
_Static_assert(ROOM *WIDEST <= 2048, "what is sent from acc needs no release");

/* The members that combine in pairs: all, or the first one of each node. */
struct group {
    uint32_t n, me;
    const int32_t *ranks; /* NULL: all */
};

/* Returns the members of a set that combine in pairs: the first one of each node where the set
 * reduces node by node (shmemi_set_by_nodes), else all. */
static struct group group_of(const struct shmemi_team *t)
{
    if (shmemi_set_by_nodes(t))
        return (struct group){t->n_nodes, t->node, t->leaders};
    return (struct group){(uint32_t)t->n, (uint32_t)t->me, NULL};
}

/* Returns the rank of the i-th member of a group. */
static int rank_of(const struct group *g, uint32_t i)
{
    return g->ranks != NULL ? g->ranks[i] : (int)i;
}

/* Returns how many slots of pWrk a group needs, at least 1, because pWrk is divided by the result.
 * A slot is a part of pWrk for the elements of one message: there is one for each step and, if the
 * members are not a power of two, one for the elements of a PE that takes no part in the steps, and
 * one for the result that is sent to that PE. */
static uint32_t slots_of(const struct group *g)
{
    uint32_t slots = shmemi_steps_in_pairs(g->n) + (shmemi_in_pairs(g->n) ? 0 : 2);
    return slots > 0 ? slots : 1;
}

/* Waits for the message in word `word` of pSync that reports n bytes written to `slot`, a part of
 * pWrk, and copies these bytes to `in`. */
static void receive_from(struct shmemi_team *t, void *in, const char *slot, size_t n, int word,
                         const char *call)
{
    shmemi_activeset_await(t, word, 1, call);
    shmemi_move(in, slot, n, call);
}

/*
 * Combines to acc what the members of a group have there, in pairs at distances of 1, 2, 4 and so
 * on; a PE beyond the largest power of two sends its elements to a PE below it. The two PEs of a
 * pair combine the same two operands in the same order, that of the lower number first, so that all
 * PEs have the same result bit for bit: a floating-point sum depends on the order. Each step has a
 * slot of pWrk and a word of pSync.
 */
static void reduce_in_pairs(struct shmemi_team *t, const struct group *g, char *acc, size_t nelems,
                            char *pwrk, const struct shmemi_reducer *reducer, const char *call)
{
    uint32_t me = g->me, steps = shmemi_steps_in_pairs(g->n), power = 1u << steps;
    size_t n = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char in[ROOM * WIDEST];
    char *folded = pwrk + (size_t)steps * n, *whole = folded + n;
    if (me >= power) {
        shmemi_activeset_message_data(t, rank_of(g, me - power), SHMEMI_DATA, folded, acc, n, call);
        receive_from(t, acc, whole, n, SHMEMI_READ, call);
        return;
    }
    if (me + power < g->n) {
        receive_from(t, in, folded, n, SHMEMI_DATA, call);
        reducer->combine(acc, in, nelems);
    }
    for (uint32_t i = 0; i < steps; i++) {
        char *slot = pwrk + (size_t)i * n;
        int word = SHMEMI_PAIR + (int)i;
        shmemi_activeset_message_data(t, rank_of(g, me ^ 1u << i), word, slot, acc, n, call);
        receive_from(t, in, slot, n, word, call);
        if (me >> i & 1) {
            reducer->combine(in, acc, nelems);
            memcpy(acc, in, n);
        } else {
            reducer->combine(acc, in, nelems);
        }
    }
    if (me + power < g->n)
        shmemi_activeset_message_data(t, rank_of(g, me + power), SHMEMI_READ, whole, acc, n, call);
}

/* Reduces so few elements that pWrk has room for them in each slot. */
static void reduce_few(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                       char *pwrk, const struct shmemi_reducer *reducer, const char *call)
{
    const struct group g = group_of(t);
    size_t n = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[ROOM * WIDEST];
    if (g.ranks == NULL) {
        shmemi_move(acc, source, n, call);
        reduce_in_pairs(t, &g, acc, nelems, pwrk, reducer, call);
        shmemi_move(dest, acc, n, call);
        return;
    }
    if (!shmemi_activeset_gather_node(t, call))
        return; /* the result is in dest */
    shmemi_combine_members(t, t->near, t->n_near, acc, source, nelems, reducer, call);
    reduce_in_pairs(t, &g, acc, nelems, pwrk, reducer, call);
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_activeset_message_data(t, t->near[i], SHMEMI_RELEASED, dest, acc, n, call);
    shmemi_move(dest, acc, n, call);
}

/* Reduces elements of which each PE has a block, in dest, which is not source: as reduce_by_blocks
 * in reduce.c, with one word of pSync for all messages of a phase. */
static void reduce_by_blocks(struct shmemi_team *t, char *dest, const char *source, size_t block,
                             const struct shmemi_reducer *reducer, const char *call)
{
    int n = t->n, me = t->me;
    size_t bytes = block * reducer->size;
    char *mine = dest + (size_t)me * bytes;
    const uint64_t others = (uint64_t)n - 1;
    for (int i = 1; i < n; i++) {
        int rank = (me + i) % n;
        shmemi_activeset_message_data(t, rank, SHMEMI_DATA, mine, source + (size_t)rank * bytes,
                                      bytes, call);
    }
    shmemi_activeset_await(t, SHMEMI_DATA, others, call);
    shmemi_combine_blocks(t, dest, source, block, reducer, call);
    for (int i = 1; i < n; i++)
        shmemi_activeset_message(t, (me + i) % n, SHMEMI_READ, call);
    shmemi_activeset_await(t, SHMEMI_READ, others, call);
    for (int i = 1; i < n; i++)
        shmemi_activeset_message_data(t, (me + i) % n, SHMEMI_RELEASED, mine, mine, bytes, call);
    shmemi_activeset_await(t, SHMEMI_RELEASED, others, call);
    shmemi_activeset_release(bytes, call);
}

/* Reduces in dest as many elements as divide evenly among the PEs that share the work, the first
 * ones, and returns how many. A set that cannot reduce in dest reduces all of them in shares. */
static size_t reduce_in_dest(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                             const struct shmemi_reducer *reducer, const char *call)
{
    const bool by_nodes = shmemi_set_by_nodes(t);
    size_t even = shmemi_column_dest_elements(t, nelems), block = nelems / t->n_nodes;
    if (by_nodes && t->columns > 1) {
        if (even > 0)
            shmemi_column_dest(t, dest, source, even, reducer, call);
        return even;
    }
    if (by_nodes && (size_t)t->n == t->n_nodes && dest != source) {
        if (block > 0)
            reduce_by_blocks(t, dest, source, block, reducer, call);
        return block * t->n_nodes;
    }
    shmemi_coll_reduce_shares(t, dest, source, nelems, reducer, call);
    return nelems;
}

/* Reduces in a set that is not the world: few elements through the guaranteed size of the program's
 * pWrk, more of them in dest or, where that is not possible, in shares. What dest leaves goes
 * through pWrk in pieces. A sync separates them, since they use the same words and slots. More
 * elements than pWrk has room for never needed it, so it may be NULL then. */
void shmemi_activeset_reduce_members(struct shmemi_team *t, void *dest, const void *source,
                                     size_t nelems, void *pwrk,
                                     const struct shmemi_reducer *reducer, const char *call)
{
    const struct group g = group_of(t);
    size_t size = reducer->size, n = nelems * size, few = ROOM / slots_of(&g);
    shmemi_check_symmetric("dest", dest, n, call);
    shmemi_check_symmetric("source", source, n, call);
    shmemi_coll_check_overlap(dest, n, source, n, /* may_be_same */ true, call);
    if (nelems == 0)
        return;
    if (nelems <= few) {
        shmemi_check_symmetric("pWrk", pwrk, ROOM * size, call);
        reduce_few(t, dest, source, nelems, pwrk, reducer, call);
        return;
    }
    size_t done = reduce_in_dest(t, dest, source, nelems, reducer, call);
    if (done < nelems && pwrk == NULL)
        shmemi_coll_reduce_shares(t, (char *)dest + done * size, (const char *)source + done * size,
                                  nelems - done, reducer, call);
    if (pwrk == NULL)
        return;
    if (done < nelems)
        shmemi_check_symmetric("pWrk", pwrk, ROOM * size, call);
    for (size_t at = done; at < nelems && shmemi_collective_unbroken(); at += few) {
        shmemi_sync_members(t, call);
        reduce_few(t, (char *)dest + at * size, (const char *)source + at * size,
                   nelems - at < few ? nelems - at : few, pwrk, reducer, call);
    }
}
