/*
 * small_blocks.h: one exchange for collect in which the members of a team tell each other the sizes
 * of their blocks, and send the blocks that are small.
 */
#ifndef SHMEMI_SMALL_BLOCKS_H
#define SHMEMI_SMALL_BLOCKS_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* An exchange of small blocks, as one member sees it. */
struct shmemi_small_blocks {
    struct shmemi_team *t;
    size_t limit; /* blocks of more bytes are not small */
    uint64_t *at; /* in scratch memory: where each block begins in dest, and the end of the last */
    char *set;    /* the set of slots of this exchange; at and this member's block are in it */
    uint64_t round; /* at the first member of a node: the round whose memory has the records */
    const char *call;
};

/* Tells the other members the size of this one's block, and sends them the block if it is small.
 * Returns false, on all members alike and without a message, if the team has no memory for that or
 * the setting SHMEM_COLLECTIVES excludes it. Otherwise x->at has the offsets of all blocks, unless
 * a PE is lost. */
bool shmemi_small_blocks_exchange(struct shmemi_small_blocks *x, struct shmemi_team *t,
                                  const void *source, size_t nbytes, const char *call);

/* Copies the small blocks of all members to dest of this one. */
void shmemi_small_blocks_place(const struct shmemi_small_blocks *x, char *dest);

#pragma GCC visibility pop

#endif
