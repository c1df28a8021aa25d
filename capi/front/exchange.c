/*
 * exchange.c: small reductions.
 *
 * Values that fit in a cache line (lines.h) are combined on each node first, then the first PE of
 * each node combines them with those of the other nodes, and spreads the result. 16 PEs of two
 * hosts that all sent to each other took 84 us for a sum, and 12 for a barrier, which is one
 * message of each host.
 *
 * Messages go into slots of the team's scratch memory, one slot for each sender or step. In teams
 * of up to SHMEMI_DIRECT_PES each PE writes to all the others, which takes one step, unless
 * messages of the network cost much (model.h). With more PEs that would be a message, and a
 * connection, for each pair: each shmem_malloc of 1,000 PEs would cost 999,000 messages. Then PEs
 * combine in pairs, at distances of 1, 2, 4 and so on, which takes log2 n messages of each.
 */
#include "exchange.h"

#include "barrier.h"
#include "below.h"
#include "gpu.h"
#include "lines.h"
#include "message.h"
#include "model.h"
#include "team.h"

#include "zz_message.h"

/* Members of a team that combine by messages. */
struct group {
    uint32_t n, me;
    const int32_t *ranks; /* NULL: all members of the team */
};

/* Returns the rank in the team of the i-th member of a group: i itself, if the group is the whole
 * team. */
static int rank_of(const struct group *g, uint32_t i)
{
    return g->ranks != NULL ? g->ranks[i] : (int)i;
}

/* Sends this PE's contribution to another member: to the slot in that member's scratch memory that
 * has the same offset in the symmetric heap as `at` has at this PE. */
static void send_to_slot(struct shmemi_team *t, int rank, const char *at, const void *mine,
                         size_t bytes, const char *call)
{
    /* No list of lent memory: mine is copied when it is posted, or stays unchanged (my_slot). */
    shmemi_message_at(t, rank, at - shmemi_state.peer_base[shmemi_state.my_pe], mine, bytes, NULL,
                      call);
}

/* Exchanges directly: every member sends its contribution to every other one, and each combines all
 * of them in the order of members, so that all have the same result bit for bit: a floating-point
 * sum depends on the order. */
static void exchange_direct(struct shmemi_team *t, const struct group *g, void *dest, char *slots,
                            const void *mine, size_t nelems, const struct shmemi_reducer *reducer,
                            const char *call)
{
    uint32_t n = g->n, me = g->me;
    size_t bytes = nelems * reducer->size;
    char *my_slot = slots + t->slot_size * me;
    shmemi_move(my_slot, mine, bytes, call);
    for (uint32_t i = 1; i < n; i++)
        send_to_slot(t, rank_of(g, (me + i) % n), my_slot, my_slot, bytes, call);
    for (uint32_t i = 1; i < n; i++)
        shmemi_await(t, rank_of(g, (me + n - i) % n), call);
    for (uint32_t i = 1; i < n; i++)
        reducer->combine(slots, slots + t->slot_size * i, nelems);
    shmemi_move(dest, slots, bytes, call);
}

/* exchange_in_pairs changes acc, and returns, while a contribution to another host is under way. So
 * each contribution has to fit into one message, which is copied when it is posted. Larger puts are
 * not copied. */
_Static_assert(SHMEMI_HEADER_SIZE + SHMEMI_SLOT <= SHMEMI_MESSAGE_SIZE &&
                   SHMEMI_TEAM_SLOT <= SHMEMI_SLOT,
               "a contribution is copied when it is posted");

/* Exchanges in pairs of members at distances of 1, 2, 4 and so on; a member beyond the largest
 * power of two sends its value to a member below, and gets the result from it. The two members of a
 * pair combine the same two operands in the same order, the operand of the lower number first. So
 * all PEs have the same result bit for bit: a floating-point sum depends on the order. */
static void exchange_in_pairs(struct shmemi_team *t, const struct group *g, void *dest, char *slots,
                              const void *mine, size_t nelems, const struct shmemi_reducer *reducer,
                              const char *call)
{
    uint32_t me = g->me, power = shmemi_power_below(g->n), beyond = g->n - power;
    size_t bytes = nelems * reducer->size, slot = t->slot_size;
    /* The slots: for the value of a member beyond `power`, for the result that it gets, and for
     * each step. */
    char *folded = slots, *whole = slots + slot, *step = slots + 2 * slot;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_SLOT];

    if (me >= power) {
        send_to_slot(t, rank_of(g, me - power), folded, mine, bytes, call);
        shmemi_await(t, rank_of(g, me - power), call);
        shmemi_move(dest, whole, bytes, call);
        return;
    }
    shmemi_move(acc, mine, bytes, call);
    if (me < beyond) {
        shmemi_await(t, rank_of(g, me + power), call);
        reducer->combine(acc, folded, nelems);
    }
    for (uint32_t distance = 1; distance < power; distance *= 2, step += slot) {
        int with = rank_of(g, me ^ distance);
        send_to_slot(t, with, step, acc, bytes, call);
        shmemi_await(t, with, call);
        if (me & distance) {
            reducer->combine(step, acc, nelems);
            memcpy(acc, step, bytes);
        } else {
            reducer->combine(acc, step, nelems);
        }
    }
    if (me < beyond)
        send_to_slot(t, rank_of(g, me + power), whole, acc, bytes, call);
    shmemi_move(dest, acc, bytes, call);
}

/* Exchanges among a group by messages: every PE sends to all the others, or PEs exchange in pairs.
 * The group exchanges in pairs if the cost model predicts that to be faster for the size, or if the
 * group is larger than SHMEMI_DIRECT_PES or than the slots suffice for. */
static void exchange_in(struct shmemi_team *t, const struct group *g, void *dest, char *slots,
                        const void *mine, size_t nelems, const struct shmemi_reducer *reducer,
                        const char *call)
{
    if (g->n <= SHMEMI_DIRECT_PES && g->n * t->slot_size <= t->round_size &&
        !shmemi_model_pairs(g->n, nelems * reducer->size))
        exchange_direct(t, g, dest, slots, mine, nelems, reducer, call);
    else
        exchange_in_pairs(t, g, dest, slots, mine, nelems, reducer, call);
}

/* Returns the set of slots for the next exchange, of two that are used alternately. */
char *shmemi_exchange_slots(struct shmemi_team *t)
{
    return t->scratch + (t->exchanges++ % 2) * t->round_size;
}

/* Exchanges among the first members of the nodes. The others only count the exchange, so that all
 * members agree on which of the two sets of slots comes next. */
void shmemi_exchange_leaders(struct shmemi_team *t, void *acc, size_t nelems,
                             const struct shmemi_reducer *reducer, const char *call)
{
    const struct group leaders = {t->n_nodes, t->node, t->leaders};
    char *slots = shmemi_exchange_slots(t);
    if (t->near_rank == 0)
        exchange_in(t, &leaders, acc, slots, acc, nelems, reducer, call);
}

/* Exchanges values that fit in a cache line: combines them on each node, then between the nodes,
 * and sends the result back to each node. On one node it uses no slots, and so does not count as an
 * exchange in t->exchanges; this is the same on all members. */
static void exchange_by_nodes(struct shmemi_team *t, void *dest, const void *mine, size_t nelems,
                              const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_LINE_DATA];
    shmemi_move(acc, mine, bytes, call);
    shmemi_lines_combine(t, acc, nelems, reducer, /* report */ NULL, call);
    if (t->n_nodes > 1) {
        shmemi_exchange_leaders(t, acc, nelems, reducer, call);
        shmemi_lines_spread(t, acc, bytes, call);
    }
    shmemi_move(dest, acc, bytes, call);
}

/* Combines what all members of a team pass as mine, and stores the result in dest at each of them.
 * Values that fit in a cache line are combined on each node first. Larger values, and the values of
 * teams with one PE on each node, are sent by messages between all members. */
void shmemi_exchange(struct shmemi_team *t, void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call)
{
    const struct group all = {.n = (uint32_t)t->n, .me = (uint32_t)t->me};
    if (nelems * reducer->size <= SHMEMI_LINE_DATA && t->n_nodes < all.n)
        exchange_by_nodes(t, dest, mine, nelems, reducer, call);
    else
        exchange_in(t, &all, dest, shmemi_exchange_slots(t), mine, nelems, reducer, call);
}

/* Computes a prefix by recursive doubling: in the step of distance d each member sends the
 * combination of the d values up to its own to the member d after it. step: the first slot; each
 * step uses the next one. What comes from lower members is the first operand. */
static void combine_upto(struct shmemi_team *t, char *step, void *acc, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = nelems * reducer->size;
    for (int distance = 1; distance < t->n; distance *= 2, step += t->slot_size) {
        if (t->me + distance < t->n)
            send_to_slot(t, t->me + distance, step, acc, bytes, call);
        if (t->me >= distance) {
            shmemi_await(t, t->me - distance, call);
            reducer->combine(step, acc, nelems);
            memcpy(acc, step, bytes);
        }
    }
}

/* Combines to acc what the members up to this one pass. A member waits only for members before it.
 * So these could run ahead to a later exchange and overwrite slots that it has yet to read; the
 * sync at the end prevents that. */
void shmemi_exchange_prefix(struct shmemi_team *t, void *acc, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call)
{
    combine_upto(t, shmemi_exchange_slots(t), acc, nelems, reducer, call);
    shmemi_sync_members(t, call);
}

/* Combines to acc what the members up to this one pass as mine (the prefix), and to all what all
 * members pass (the exchange). Both share one set of slots: the exchange uses the first half of
 * each slot, and the prefix the second half. No member returns from the exchange before all have
 * begun it, which keeps members from overwriting slots of the prefix that others have yet to read.
 */
void shmemi_exchange_both(struct shmemi_team *t, void *acc, void *all, const void *mine,
                          size_t nelems, const struct shmemi_reducer *reducer, const char *call)
{
    char *slots = t->scratch + (t->exchanges % 2) * t->round_size;
    memcpy(acc, mine, nelems * reducer->size);
    combine_upto(t, slots + t->slot_size / 2, acc, nelems, reducer, call);
    shmemi_exchange(t, all, mine, nelems, reducer, call);
}

/* Adds n words of 64 bits to acc: the reducer of a sum. */
void shmemi_add_u64(void *acc, const void *in, size_t n)
{
    uint64_t *a = acc;
    const uint64_t *b = in;
    for (size_t i = 0; i < n; i++)
        a[i] += b[i];
}

/* Stores in acc the minimum of each of n signed words of 64 bits: the reducer of a minimum. */
void shmemi_min_i64(void *acc, const void *in, size_t n)
{
    int64_t *a = acc;
    const int64_t *b = in;
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] < a[i] ? b[i] : a[i];
}
