/*
 * lines.h: small collectives of the PEs of a team that are on one node.
 *
 * A line is one cache line of a PE's memory, with a contribution and the number of its exchange, so
 * that it takes one transfer between processors. The PEs exchange lines in steps, in groups of two
 * to seven: each PE of a group writes its contribution to a line of each other one and combines
 * what they have written. Then it is in a group with PEs of other groups, so that 64 PEs take three
 * steps of groups of four.
 *
 * The lines of a team come after its inbox, in main memory.
 */
#ifndef SHMEMI_LINES_H
#define SHMEMI_LINES_H

#include "below.h"
#include "waiter.h"

#pragma GCC visibility push(hidden)

struct shmemi_team;

/* The size of the largest contribution, in bytes. */
enum { SHMEMI_LINE_DATA = SHMEMI_CACHE_LINE - sizeof(uint64_t) };

/* How the report of a long wait names the PEs that it waits for (waiter.h). */
struct shmemi_lines_report {
    shmemi_describe describe;
    const void *subject; /* the argument of both functions */
    shmemi_late late;
};
/* Combines the values acc of all members of a team that are on this node; all of them call it. acc
 * is in main memory. Each gets the same result in its acc, bit for bit. At most SHMEMI_LINE_DATA
 * bytes. Without elements it is a barrier, and reducer may be NULL. report NULL: a report names the
 * PEs whose lines have not arrived. After the loss of a PE the result is not valid. */
void shmemi_lines_combine(struct shmemi_team *t, void *acc, size_t nelems,
                          const struct shmemi_reducer *reducer,
                          const struct shmemi_lines_report *report, const char *call);

/* Called right after shmemi_lines_combine: sends the data of the first PE of the node to the other
 * members there. It uses other lines of the same exchange: the first PE returns before the others
 * have read their lines, and only the next exchange has another set of lines. */
void shmemi_lines_spread(struct shmemi_team *t, void *data, size_t bytes, const char *call);

/* Where the blocks of a team's members are in dest, one after the other, for collect and
 * fcollect. */
struct shmemi_blocks {
    /* Where each block begins, and the end of the last; NULL: each has `size` bytes. */
    const uint64_t *at;
    size_t size;
    size_t placed; /* blocks of up to so many bytes are in dest of all members already */
};

/* Where consecutive blocks begin in dest, and how many bytes they have. */
struct shmemi_part {
    size_t at, bytes;
};

/* Returns the blocks of the members with ranks from first to end - 1. */
SHMEMI_INLINE struct shmemi_part shmemi_blocks_part(const struct shmemi_blocks *b, uint32_t first,
                                                    uint32_t end)
{
    if (b->at == NULL)
        return (struct shmemi_part){first * b->size, (end - first) * b->size};
    return (struct shmemi_part){b->at[first], b->at[end] - b->at[first]};
}

/*
 * Collects the blocks of all members of a team on one node at each member. At the call each has its
 * own block in dest, an offset from the user heap that is in main memory on all of them. In each
 * step a PE sends all blocks that it has: in the line if they fit, else directly to the other PE's
 * dest, followed by the line.
 */
void shmemi_lines_collect(struct shmemi_team *t, int64_t dest, const struct shmemi_blocks *blocks,
                          const char *call);

#pragma GCC visibility pop

#endif
