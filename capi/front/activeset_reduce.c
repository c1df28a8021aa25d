/*
 * activeset_reduce.c: reductions on active sets that are not all PEs of the job.
 */
#include "activeset_reduce.h"

#include "activeset_messages.h"
#include "address.h"
#include "collective_arguments.h"
#include "gpu.h"
#include "reduce.h"

/* ROOM: how many elements pWrk has at least, of any type. WIDEST: the bytes of the largest element.
 */
enum { ROOM = SHMEM_REDUCE_MIN_WRKDATA_SIZE, WIDEST = 16 };
/* reduce_in_pairs returns while puts from its local array acc may be under way. So each of them has
 * to be small enough that it is copied when it is posted (COPIED_BYTES in activeset_messages.c).
 * pWrk is divided into two slots or more, so a put has at most half of its elements. */
_Static_assert(ROOM / 2 * WIDEST <= 2048, "what is sent from acc needs no release");

/* Returns the binary logarithm of n, rounded down. */
static int log2_below(int n)
{
    return 31 - __builtin_clz((unsigned)n);
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
 * Reduces in pairs of PEs at distances of 1, 2, 4 and so on; a PE beyond the largest power of two
 * sends its elements to a PE below it. The two PEs of a pair combine the same two operands in the
 * same order, that of the lower number first, so that all PEs have the same result bit for bit: a
 * floating-point sum depends on the order. Each step has a slot of pWrk and a word of pSync.
 */
static void reduce_in_pairs(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                            char *pwrk, const struct shmemi_reducer *reducer, const char *call)
{
    int me = t->me, steps = log2_below(t->n), power = 1 << steps;
    size_t n = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[ROOM * WIDEST], in[ROOM * WIDEST];
    /* The slots after those of the steps: for the elements of the PE beyond `power`, and for the
     * result that is sent to that PE. */
    char *folded = pwrk + (size_t)steps * n, *whole = folded + n;
    shmemi_move(acc, source, n, call);
    if (me >= power) {
        shmemi_activeset_message_data(t, me - power, SHMEMI_DATA, folded, acc, n, call);
        receive_from(t, acc, whole, n, SHMEMI_READ, call);
        shmemi_move(dest, acc, n, call);
        return;
    }
    if (me + power < t->n) {
        receive_from(t, in, folded, n, SHMEMI_DATA, call);
        reducer->combine(acc, in, nelems);
    }
    for (int i = 0; i < steps; i++) {
        char *slot = pwrk + (size_t)i * n;
        shmemi_activeset_message_data(t, me ^ 1 << i, SHMEMI_ROUND + i, slot, acc, n, call);
        receive_from(t, in, slot, n, SHMEMI_ROUND + i, call);
        if (me >> i & 1) {
            reducer->combine(in, acc, nelems);
            memcpy(acc, in, n);
        } else {
            reducer->combine(acc, in, nelems);
        }
    }
    if (me + power < t->n)
        shmemi_activeset_message_data(t, me + power, SHMEMI_READ, whole, acc, n, call);
    shmemi_move(dest, acc, n, call);
}

/* Reduces in a set that is not the world. As many elements as fit in the guaranteed size of the
 * program's pWrk are combined in pairs of members, who exchange them through pWrk. Of more elements
 * each member reduces a share, and sends the result to the others. */
void shmemi_activeset_reduce_members(struct shmemi_team *t, void *dest, const void *source,
                                     size_t nelems, void *pwrk,
                                     const struct shmemi_reducer *reducer, const char *call)
{
    size_t n = nelems * reducer->size;
    shmemi_check_symmetric("dest", dest, n, call);
    shmemi_check_symmetric("source", source, n, call);
    shmemi_coll_check_overlap(dest, n, source, n, true, call);
    if (nelems == 0)
        return;
    /* pWrk has a slot for each step, one for the elements of a PE that takes no part in the steps,
     * and one for the result that is sent to that PE. */
    if (nelems * (size_t)(log2_below(t->n) + 2) <= ROOM) {
        shmemi_check_symmetric("pWrk", pwrk, ROOM * reducer->size, call);
        reduce_in_pairs(t, dest, source, nelems, pwrk, reducer, call);
    } else {
        shmemi_coll_reduce_shares(t, dest, source, nelems, reducer, call);
    }
}
