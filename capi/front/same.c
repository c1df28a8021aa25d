/*
 * same.c: under SHMEM_CHECKS=full, what all members of a team have to pass alike is
 * compared before a collective starts.
 *
 * Without it different arguments are overwritten memory, or a wait for a message that
 * nobody sends. It costs one small reduction for each call.
 */
#include "coll.h"
#include "colls.h"

#include "remote.h"

enum { CALL, DEST, SOURCE, BYTES, OTHER, VALUES };

/* Of an address that is not symmetric, which is reported by what comes next. */
#define NOWHERE ((int64_t)1 << 62)

/* An address as all PEs know it. */
static int64_t place(const void *p)
{
    return shmemi_symmetric(p, 1) ? shmemi_offset(p) : NOWHERE;
}

static int64_t hash(const char *text)
{
    uint64_t h = 1469598103934665603u;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (int64_t)(h >> 1);
}

void shmemi_coll_same(struct shmemi_team *t, const void *dest, const void *source, size_t nbytes,
                      const char *what, int64_t other, const char *call)
{
    static const struct shmemi_reducer votes = {shmemi_min_i64, sizeof(int64_t)};
    const char *const names[VALUES] = {"", "the heap offset of dest", "the heap offset of source",
                                       "the number of bytes", what};
    if (SHMEMI_LIKELY(shmemi_state.checks != SHMEMI_CHECKS_FULL))
        return;
    int64_t mine[2 * VALUES], all[2 * VALUES];
    mine[CALL] = hash(call);
    mine[DEST] = place(dest);
    mine[SOURCE] = place(source);
    mine[BYTES] = (int64_t)nbytes;
    mine[OTHER] = other;
    for (int i = 0; i < VALUES; i++)
        mine[VALUES + i] = -mine[i];
    shmemi_exchange(t, all, mine, 2 * VALUES, &votes, call);
    if (!shmemi_collective_holds())
        return;
    if (all[CALL] != -all[VALUES + CALL])
        shmemi_abort(call, "make the same calls in the same order on every PE of a team",
                     "another PE of the team is in another call");
    for (int i = DEST; i < VALUES; i++)
        if (all[i] != -all[VALUES + i])
            shmemi_abort(call, "pass the same on every PE of the team",
                         "%s is %lld on a PE and %lld on another", names[i], (long long)all[i],
                         (long long)-all[VALUES + i]);
}
