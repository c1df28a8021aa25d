/*
 * alltoall_steps.c: an all-to-all of a team on many nodes in log2 n steps (Bruck's algorithm), for
 * blocks so small that a message to each node would cost more than to send each of them several
 * times.
 *
 * As in nodes.c, the k-th member of a node sends the blocks for all members of another node, which
 * are one block here, to the k-th member there. A block has the number of the distance that it has
 * to go, from 1 to n - 1: to the node that is so many nodes on, or, if n is a power of two, to the
 * one whose number differs in the bits of the distance, so that nodes exchange messages in pairs.
 * In step i a node sends on, over a distance of 2^i, all blocks whose number has bit i: its own and
 * those that it has received in earlier steps. It receives as many, of the same numbers.
 *
 * Calls use the team's memory for rounds, which serves several calls in turn (rounds.h). Of the
 * memory of one round a PE sends from the first half, and receives into the second. Each step has
 * memory of its own in both halves. No call returns before all nodes have
 * begun it, because each has a block for each. So a node that begins the next round but one knows
 * that all have left this one, and may write to its memory.
 */
#include "alltoall_steps.h"

#include "address.h"
#include "failure.h"
#include "gpu.h"
#include "message.h"
#include "nodes.h"
#include "rounds.h"

/* Reports whether all nodes have equally many members with consecutive ranks, a round's memory
 * holds what the steps send together, and the model (model.h) finds them faster than a message to
 * each node. With two nodes there is only one other node, so steps save nothing. */
bool shmemi_alltoall_has_steps(const struct shmemi_team *t, size_t nbytes)
{
    size_t blocks = 0;
    if (!shmemi_has_columns(t) || !t->consecutive || !t->even || t->n_nodes < 3)
        return false;
    for (uint32_t i = 0; 1u << i < t->n_nodes; i++)
        blocks += shmemi_blocks_of_step(t->n_nodes, i);
    return nbytes <= t->round_bytes / blocks / t->columns &&
           shmemi_model_swaps_in_steps(t, nbytes * t->columns);
}

/* An all-to-all, as one member sees it. */
struct steps {
    struct shmemi_team *t;
    const char *source;
    size_t nbytes, block;  /* bytes for a member, and for all members of a node */
    char *sent, *received; /* the two halves of the round's memory */
    size_t begin[33];      /* where step i has its blocks there, in blocks, and where it ends */
};

/* Returns the node to which this one sends over a distance or, if before is true, the one from
 * which it receives over that distance. */
static uint32_t node_at(const struct shmemi_team *t, uint32_t distance, bool before)
{
    if (shmemi_in_pairs(t->n_nodes))
        return t->node ^ distance;
    return (t->node + (before ? t->n_nodes - distance : distance)) % t->n_nodes;
}

/* Returns the offset of a block in the round's memory, in step i, of whose bit its number has: the
 * blocks with smaller numbers that have the bit are before it. */
static size_t offset_in(const struct steps *s, uint32_t number, uint32_t i)
{
    size_t low = number & ((1u << i) - 1), high = number >> i >> 1;
    return (s->begin[i] + (high << i) + low) * s->block;
}

/* Returns where the block of a number is, if its bits in `done` are of steps that have moved it:
 * where the last of them has received it, or in source. */
static const char *block_now(const struct steps *s, uint32_t number, uint32_t done)
{
    uint32_t moved = number & done;
    if (moved == 0)
        return s->source +
               s->nbytes * (size_t)s->t->leaders[node_at(s->t, number, /* before */ false)];
    return s->received + offset_in(s, number, shmemi_steps_in_pairs(moved));
}

/* Performs step i: sends all blocks whose number has bit i, and waits for as many. */
static void step(const struct steps *s, uint32_t i, const char *call)
{
    struct shmemi_team *t = s->t;
    const uint32_t bit = 1u << i;
    const size_t at = s->begin[i] * s->block, n = (s->begin[i + 1] - s->begin[i]) * s->block;
    for (uint32_t number = bit; number < t->n_nodes; number = (number + 1) | bit)
        shmemi_move_nbi(s->sent + offset_in(s, number, i), block_now(s, number, bit - 1), s->block,
                        call);
    if (shmemi_state.gpu)
        shmemi_settle(call); /* the driver may still be copying blocks to s->sent */
    /* No list of lent memory: s->sent is the library's, and stays unchanged until it is read. */
    shmemi_message_at(t, shmemi_team_at(t, node_at(t, bit, /* before */ false), t->near_rank),
                      s->received + at - shmemi_state.peer_base[shmemi_state.my_pe], s->sent + at,
                      n, NULL, call);
    shmemi_await(t, shmemi_team_at(t, node_at(t, bit, /* before */ true), t->near_rank), call);
}

/* Copies the blocks for this node, sends those for others in steps, and passes on those that have
 * come to the members of this node. */
void shmemi_alltoall_steps(struct shmemi_team *t, char *dest, const char *source, size_t nbytes,
                           const char *call)
{
    const int64_t dest_offset = shmemi_offset(dest);
    char *received = shmemi_round_received(t, t->rounds_begun++);
    struct steps s = {t,        source, nbytes, nbytes * t->columns, received - t->round_bytes,
                      received, {0}};
    for (uint32_t i = 0; 1u << i < t->n_nodes; i++)
        s.begin[i + 1] = s.begin[i] + shmemi_blocks_of_step(t->n_nodes, i);
    shmemi_nodes_pass_on(t, dest_offset, t->me, source + nbytes * (size_t)t->leaders[t->node],
                         nbytes, call);
    for (uint32_t i = 0; 1u << i < t->n_nodes && shmemi_collective_unbroken(); i++)
        step(&s, i, call);
    for (uint32_t number = 1; number < t->n_nodes && shmemi_collective_unbroken(); number++)
        shmemi_nodes_pass_on(t, dest_offset,
                             shmemi_team_at(t, node_at(t, number, /* before */ true), t->near_rank),
                             block_now(&s, number, UINT32_MAX), nbytes, call);
    shmemi_nodes_sync(t, call);
}
