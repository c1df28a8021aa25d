/*
 * collective_arguments.c: under SHMEM_CHECKS=full, the members of a team compare their calls and
 * arguments before a collective starts.
 *
 * Without the comparison different arguments overwrite memory, and members of different calls wait
 * for messages that never arrive. The comparison costs one small reduction for each call.
 */
#include "collective_arguments.h"

#include "address.h"
#include "below.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "team.h"

#include <string.h>

/* The entries of the array that members compare. OTHER is one more argument, which the caller
 * names; VALUES is the number of entries. */
enum { CALL, DEST, SOURCE, BYTES, OTHER, VALUES };

/* Stands for an address that is not symmetric, and differs from every offset. The check of each
 * address, which comes later, reports it. */
#define NOWHERE ((int64_t)1 << 62)

/* Returns a number for an address that is the same on all PEs for the same symmetric object: its
 * offset from the user heap. It returns NOWHERE for an address that is not symmetric. */
static int64_t address_number(const void *p)
{
    return shmemi_symmetric(p, 1) ? shmemi_offset(p) : NOWHERE;
}

/* Returns a hash of a call's name (FNV-1a) that is not negative. */
static int64_t hash(const char *text)
{
    uint64_t h = 1469598103934665603u;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (int64_t)(h >> 1);
}

enum { WORDS = 8 }; /* 8-byte words that hold the name of a call */

/* Ends the job with the name of the call that another member has made. Members whose call has the
 * least or the greatest hash contribute its name, the others zeros. A reduction to the minimum
 * finds the names: a word of a name is ASCII and so not negative, and its negative is at most 0.
 * This PE prints the name with the other of the two hashes. */
static void print_calls(struct shmemi_team *t, int64_t least, int64_t most,
                        const struct shmemi_reducer *minimum, const char *call)
{
    int64_t name[WORDS] = {0}, mine[2 * WORDS] = {0}, all[2 * WORDS];
    memcpy(name, call, strnlen(call, sizeof name - 1));
    for (int i = 0; i < WORDS; i++) {
        mine[i] = hash(call) == least ? -name[i] : 0;
        mine[WORDS + i] = hash(call) == most ? -name[i] : 0;
    }
    shmemi_exchange(t, all, mine, 2 * WORDS, minimum, call);
    if (!shmemi_collective_unbroken())
        return;
    char other_call[sizeof name];
    for (int i = 0; i < WORDS; i++)
        name[i] = -all[hash(call) == least ? WORDS + i : i];
    memcpy(other_call, name, sizeof other_call);
    shmemi_abort(call, "make the same calls in the same order on every PE of a team",
                 "another PE of the team is in %s", other_call);
}

/* Under full checks, ends the job if the members of a team make different calls or pass different
 * arguments. One exchange of the minimum of each value and of its negative shows whether all values
 * are equal. */
void shmemi_coll_check_arguments(struct shmemi_team *t, const void *dest, const void *source,
                                 size_t nbytes, const char *what, int64_t other, const char *call)
{
    static const struct shmemi_reducer minimum_of_values = {shmemi_min_i64, sizeof(int64_t)};
    const char *const names[VALUES] = {"", "the heap offset of dest", "the heap offset of source",
                                       "the number of bytes", what};
    if (SHMEMI_LIKELY(shmemi_state.checks != SHMEMI_CHECKS_FULL))
        return;
    int64_t mine[2 * VALUES], all[2 * VALUES];
    mine[CALL] = hash(call);
    mine[DEST] = address_number(dest);
    mine[SOURCE] = address_number(source);
    mine[BYTES] = (int64_t)nbytes;
    mine[OTHER] = other;
    for (int i = 0; i < VALUES; i++)
        mine[VALUES + i] = -mine[i];
    shmemi_exchange(t, all, mine, 2 * VALUES, &minimum_of_values, call);
    if (!shmemi_collective_unbroken())
        return;
    if (all[CALL] != -all[VALUES + CALL])
        print_calls(t, all[CALL], -all[VALUES + CALL], &minimum_of_values, call);
    for (int i = DEST; i < VALUES; i++)
        if (all[i] != -all[VALUES + i])
            shmemi_abort(call, "pass the same on every PE of the team",
                         "%s is %lld on a PE and %lld on another", names[i], (long long)all[i],
                         (long long)-all[VALUES + i]);
}

/* Under SHMEM_CHECKS=full, ends the job if source and dest overlap: PEs that write to dest would
 * change elements of source that others have yet to read. may_be_same: the collective reads each
 * element before it writes the result there, so source and dest may be the same array. */
void shmemi_coll_check_overlap(const void *dest, size_t nd, const void *source, size_t ns,
                               bool may_be_same, const char *call)
{
    uintptr_t d = (uintptr_t)dest, s = (uintptr_t)source;
    if (SHMEMI_LIKELY(shmemi_state.checks != SHMEMI_CHECKS_FULL) || (may_be_same && d == s))
        return;
    if (nd > 0 && ns > 0 && d < s + ns && s < d + nd)
        shmemi_abort(call, "pass arrays that do not overlap",
                     "dest %p with %zu bytes and source %p with %zu bytes overlap", dest, nd,
                     source, ns);
}
