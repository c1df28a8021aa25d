/*
 * exchange.c: small reductions, by messages into the slots of the scratch.
 *
 * Up to SHMEMI_DIRECT_PES each PE writes to each other one, which takes one step. With more PEs
 * that would be a message, and a connection, for each pair: each shmem_malloc of 1,000 PEs would
 * cost 999,000 messages. Then PEs combine in pairs, at distances of 1, 2, 4 and so on, which takes
 * log2 n messages of each.
 */
#include "exchange.h"

#include "barrier.h"
#include "below.h"
#include "gpu.h"
#include "lines.h"
#include "message.h"
#include "team.h"

#include "zz_message.h"

/* The largest power of two up to n. */
static uint32_t power_below(uint32_t n)
{
    uint32_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

/* Writes a contribution to the slot of another member that is at `at` in this PE. */
static void give(struct shmemi_team *t, int rank, const char *at, const void *mine, size_t bytes,
                 const char *call)
{
    shmemi_message_at(t, rank, at - shmemi_state.peer_base[shmemi_state.my_pe], mine, bytes, call);
}

static void exchange_direct(struct shmemi_team *t, void *dest, char *round, const void *mine,
                            size_t nelems, const struct shmemi_reducer *reducer, const char *call)
{
    int n = t->n, me = t->me;
    size_t bytes = nelems * reducer->size;
    char *own = round + t->slot_size * (size_t)me;
    shmemi_move(own, mine, bytes, call);
    for (int i = 1; i < n; i++)
        give(t, (me + i) % n, own, own, bytes, call);
    for (int i = 1; i < n; i++)
        shmemi_await(t, (me + n - i) % n, call);
    for (int rank = 1; rank < n; rank++)
        reducer->combine(round, round + t->slot_size * (size_t)rank, nelems);
    shmemi_move(dest, round, bytes, call);
}

/* acc below changes, and the call returns, while a contribution to another host is under way. So
 * each has to be one message, which is copied when it is posted; larger puts are not. */
_Static_assert(SHMEMI_HEADER_SIZE + SHMEMI_SLOT <= SHMEMI_MESSAGE_SIZE &&
                   SHMEMI_TEAM_SLOT <= SHMEMI_SLOT,
               "a contribution is copied when it is posted");

/* Both of a pair combine the same two operands in the same order, that of the PE of the lower
 * number first, so all PEs have the same result bit for bit. */
static void exchange_in_pairs(struct shmemi_team *t, void *dest, char *round, const void *mine,
                              size_t nelems, const struct shmemi_reducer *reducer, const char *call)
{
    uint32_t me = (uint32_t)t->me, power = power_below((uint32_t)t->n);
    uint32_t beyond = (uint32_t)t->n - power;
    size_t bytes = nelems * reducer->size, slot = t->slot_size;
    char *folded = round, *whole = round + slot, *step = round + 2 * slot;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_SLOT];

    if (me >= power) {
        give(t, (int)(me - power), folded, mine, bytes, call);
        shmemi_await(t, (int)(me - power), call);
        shmemi_move(dest, whole, bytes, call);
        return;
    }
    shmemi_move(acc, mine, bytes, call);
    if (me < beyond) {
        shmemi_await(t, (int)(me + power), call);
        reducer->combine(acc, folded, nelems);
    }
    for (uint32_t distance = 1; distance < power; distance *= 2, step += slot) {
        int with = (int)(me ^ distance);
        give(t, with, step, acc, bytes, call);
        shmemi_await(t, with, call);
        if (me & distance) {
            reducer->combine(step, acc, nelems);
            memcpy(acc, step, bytes);
        } else {
            reducer->combine(acc, step, nelems);
        }
    }
    if (me < beyond)
        give(t, (int)(me + power), whole, acc, bytes, call);
    shmemi_move(dest, acc, bytes, call);
}

void shmemi_exchange(struct shmemi_team *t, void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call)
{
    /* The scratch holds two rounds of slots. Two are enough: a PE starts round k+2 only when every
     * PE has begun round k+1, and a PE begins that after it has read round k. */
    if (t->n_nodes == 1 && nelems * reducer->size <= SHMEMI_LINE_DATA) {
        _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_LINE_DATA];
        shmemi_move(acc, mine, nelems * reducer->size, call);
        shmemi_lines_combine(t, acc, nelems, reducer, NULL, call);
        shmemi_move(dest, acc, nelems * reducer->size, call);
        return;
    }
    char *round = t->scratch + (t->exchanges++ % 2) * t->round_size;
    if (t->direct)
        exchange_direct(t, dest, round, mine, nelems, reducer, call);
    else
        exchange_in_pairs(t, dest, round, mine, nelems, reducer, call);
}

/* At distance d each member passes on the combination of the 2d - 1 up to itself. step: its place
 * in the first slot that is used. */
static void combine_upto(struct shmemi_team *t, char *step, void *acc, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = nelems * reducer->size;
    for (int distance = 1; distance < t->n; distance *= 2, step += t->slot_size) {
        if (t->me + distance < t->n)
            give(t, t->me + distance, step, acc, bytes, call);
        if (t->me >= distance) {
            shmemi_await(t, t->me - distance, call);
            reducer->combine(step, acc, nelems);
            memcpy(acc, step, bytes);
        }
    }
}

/* A member depends only on those before it, so the sync at the end keeps them from running ahead
 * and overwriting slots that it has yet to read. */
void shmemi_exchange_prefix(struct shmemi_team *t, void *acc, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call)
{
    combine_upto(t, t->scratch + (t->exchanges++ % 2) * t->round_size, acc, nelems, reducer, call);
    shmemi_team_meet(t, call);
}

/* Both are one round, so that the exchange keeps members from running ahead for both. The exchange
 * has the first half of each slot. The other has the second half, and needs no more slots. */
void shmemi_exchange_both(struct shmemi_team *t, void *acc, void *all, const void *mine,
                          size_t nelems, const struct shmemi_reducer *reducer, const char *call)
{
    char *round = t->scratch + (t->exchanges % 2) * t->round_size;
    memcpy(acc, mine, nelems * reducer->size);
    combine_upto(t, round + t->slot_size / 2, acc, nelems, reducer, call);
    shmemi_exchange(t, all, mine, nelems, reducer, call);
}

void shmemi_add_u64(void *acc, const void *in, size_t n)
{
    uint64_t *a = acc;
    const uint64_t *b = in;
    for (size_t i = 0; i < n; i++)
        a[i] += b[i];
}

void shmemi_min_i64(void *acc, const void *in, size_t n)
{
    int64_t *a = acc;
    const int64_t *b = in;
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] < a[i] ? b[i] : a[i];
}
