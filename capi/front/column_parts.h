/*
 * column_parts.h: a reduction of a column, for columns.c and column_steps.c. A column is one member
 * of each node, the k-th, and reduces the k-th share of the elements.
 */
#ifndef SHMEMI_COLUMN_PARTS_H
#define SHMEMI_COLUMN_PARTS_H

#include "below.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "message.h"
#include "rounds.h"

#pragma GCC visibility push(hidden)

/* A reduction, as a member of a column sees it. Numbers count elements. */
struct reduction {
    struct shmemi_team *t;
    char *dest;
    const char *source;
    size_t first, end;   /* the column's share, or the block of this PE that is to be reduced */
    size_t block;        /* elements of a member's block in a round, at least 1 */
    size_t block_stride; /* scatter: elements of source from one member's block to the next */
    bool scatter;        /* a reducescatter: only the owner gets a block's result */
    bool whole;     /* a round reduces one block, not one block for each member of the column */
    uint64_t round; /* the number of the first round, counted over all reductions of the team */
    struct shmemi_lent *lent;
    const struct shmemi_reducer *reducer;
    const char *call;
};

/* Returns the rank of the member of this PE's column on a node. */
SHMEMI_INLINE int peer(const struct reduction *r, uint32_t node)
{
    return shmemi_team_at(r->t, node, r->t->near_rank);
}

/* Returns the memory into which this PE receives elements in round k. The rounds of a reduction
 * reduce one piece of the column's share each, in memory of their own. */
SHMEMI_INLINE char *received_in(const struct reduction *r, size_t k)
{
    return shmemi_round_received(r->t, r->round + k);
}

/* Returns the memory from which this PE sends elements in round k. It is directly before the memory
 * into which this PE receives in that round. */
SHMEMI_INLINE char *sent_in(const struct reduction *r, size_t k)
{
    return received_in(r, k) - r->t->round_bytes;
}

/* Sends elements to the column's member on a node, to the offset in its symmetric memory that `at`
 * has at this PE. lent: the list of memory of the program that messages may still read, to which
 * the call adds `from`; NULL: `from` is memory that stays unchanged until the message has arrived.
 */
SHMEMI_INLINE void send_at(const struct reduction *r, uint32_t node, const char *at,
                           const void *from, size_t nelems, struct shmemi_lent *lent)
{
    int64_t offset = at - shmemi_state.peer_base[shmemi_state.my_pe];
    shmemi_message_at(r->t, peer(r, node), offset, from, nelems * r->reducer->size, lent, r->call);
}

/* Returns the address at which this PE combines the elements from `at` on: in dest, if it is the
 * only member on its node and the CPU can store to dest, else `round`, memory of the round, from
 * which copy_to_node copies them to the members of the node. */
SHMEMI_INLINE char *target_of(const struct reduction *r, size_t at, char *round)
{
    if (r->t->n_near == 1 && shmemi_loads(r->dest))
        return r->dest + at * r->reducer->size;
    return round;
}

/* Writes the result of n elements, from the element `at` of dest on, to dest of each member of this
 * node, this PE included. Writes nothing if the result is in this PE's dest already, which it is
 * only if the PE is alone on its node (target_of). */
SHMEMI_INLINE void copy_to_node(const struct reduction *r, size_t at, const char *from, size_t n)
{
    struct shmemi_team *t = r->t;
    char *to = r->dest + at * r->reducer->size;
    for (uint32_t i = 0; i < t->n_near && to != from && shmemi_collective_unbroken(); i++)
        shmemi_put(SHMEM_CTX_DEFAULT, to, from, n * r->reducer->size,
                   t->pes[shmemi_team_neighbour(t, i)], r->call);
}

/* Reduces the elements from r->first to r->end, r->block of them in each round, in pairs: in each
 * step two nodes exchange all of them (column_steps.c). */
void shmemi_column_pairs(const struct reduction *r);
/* Reduces the same elements in halves: in each step two nodes exchange one half of them. */
void shmemi_column_halves(const struct reduction *r);
/* Reduces the blocks of a reducescatter in halves, r->block elements of each in a round
 * (column_scatter.c). */
void shmemi_column_scatter(const struct reduction *r);

#pragma GCC visibility pop

#endif
