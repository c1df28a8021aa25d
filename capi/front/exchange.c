/*
 * exchange.c: small reductions, by messages into the slots of the scratch.
 *
 * Up to SHMEMI_DIRECT_PES everybody writes to everybody, which takes one step.
 * With more of them that would be a message, and a connection, for each pair: each
 * shmem_malloc of 1,000 PEs would cost 999,000 messages. Then PEs combine in
 * pairs, at distances of 1, 2, 4 and so on, which takes log2 n messages of each.
 */
#include "coll.h"
#include "gpu.h"

static uint64_t exchanges;

void shmemi_exchange_open(void)
{
    exchanges = 0;
}

/* The largest power of two up to n. */
static uint32_t power_below(uint32_t n)
{
    uint32_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

/* Writes a contribution to the slot of another PE that is at `at` in this one. */
static void give(int pe, const char *at, const void *mine, size_t bytes, const char *call)
{
    shmemi_message_at(pe, at - shmemi_state.peer_base[shmemi_state.my_pe], mine, bytes, call);
}

static void exchange_direct(void *dest, char *round, const void *mine, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    int n = (int)s->n_pes, me = s->my_pe;
    size_t bytes = nelems * reducer->size;
    char *own = round + SHMEMI_SLOT * (size_t)me;
    shmemi_move(own, mine, bytes, call);
    for (int i = 1; i < n; i++)
        give((me + i) % n, own, own, bytes, call);
    for (int i = 1; i < n; i++)
        shmemi_await((me + n - i) % n, call);
    for (int pe = 1; pe < n; pe++)
        reducer->combine(round, round + SHMEMI_SLOT * (size_t)pe, nelems);
    shmemi_move(dest, round, bytes, call);
}

/*
 * Both of a pair combine the same two operands in the same order, that of the PE
 * of the lower number first, so all PEs have the same result bit for bit.
 *
 * What is sent is not changed before it has left: small puts are copied when they
 * are posted, and larger ones are waited for.
 */
static void exchange_in_pairs(void *dest, char *round, const void *mine, size_t nelems,
                              const struct shmemi_reducer *reducer, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t me = (uint32_t)s->my_pe, power = power_below(s->n_pes), beyond = s->n_pes - power;
    size_t bytes = nelems * reducer->size;
    char *folded = round, *whole = round + SHMEMI_SLOT, *step = round + 2 * SHMEMI_SLOT;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_SLOT];

    if (me >= power) {
        give((int)(me - power), folded, mine, bytes, call);
        shmemi_await((int)(me - power), call);
        shmemi_move(dest, whole, bytes, call);
        return;
    }
    shmemi_move(acc, mine, bytes, call);
    if (me < beyond) {
        shmemi_await((int)(me + power), call);
        reducer->combine(acc, folded, nelems);
    }
    for (uint32_t distance = 1; distance < power; distance *= 2, step += SHMEMI_SLOT) {
        int with = (int)(me ^ distance);
        give(with, step, acc, bytes, call);
        shmemi_await(with, call);
        if (me & distance) {
            reducer->combine(step, acc, nelems);
            memcpy(acc, step, bytes);
        } else {
            reducer->combine(acc, step, nelems);
        }
    }
    if (me < beyond)
        give((int)(me + power), whole, acc, bytes, call);
    shmemi_move(dest, acc, bytes, call);
}

void shmemi_exchange(void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call)
{
    /* The scratch holds two rounds of slots. Two are enough: a PE starts round k+2
     * only when every PE has begun round k+1, and a PE begins that after it has read
     * round k. */
    const struct shmemi_state *s = &shmemi_state;
    char *round = s->scratch + (exchanges++ % 2) * (s->scratch_size / 2);
    if (s->n_pes <= SHMEMI_DIRECT_PES)
        exchange_direct(dest, round, mine, nelems, reducer, call);
    else
        exchange_in_pairs(dest, round, mine, nelems, reducer, call);
}
