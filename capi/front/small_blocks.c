/*
 * small_blocks.c: one exchange for collect between nodes, of the sizes of all blocks and of the
 * small blocks.
 *
 * Between nodes a size costs a message, and a block that is sent with its size costs no other one.
 * Between two hosts over tcp, a collect of 8 bytes took 14.8 us in two exchanges, of the sizes and
 * then of the blocks, and takes 6.7 in one (2 PEs, 2 processors).
 *
 * Nobody knows where a block belongs in dest before all sizes have come. So the blocks go to memory
 * of the team, and each member copies them to its dest. On a node each member writes its block
 * where the others read it. Between nodes the first members (leaders) exchange records. A record
 * has the sizes of the blocks of one node's members, and then their small blocks, one after the
 * other. A leader's own record is first in the half of a round's memory from which it sends, and
 * those of the others are in the half into which it receives. Its neighbours read them there.
 */
#include "small_blocks.h"

#include "barrier.h"
#include "exchange.h"
#include "failure.h"
#include "gpu.h"
#include "message.h"
#include "rounds.h"

/* Up to this many bytes the blocks of a node are small: they are sent with their sizes. To copy
 * them twice more takes less time than a second exchange. */
#define NODE_BYTES ((size_t)16 << 10)

/* Between nodes leaders choose how to exchange the records before anybody knows their sizes. The
 * choice is for blocks of so many bytes. */
enum { USUAL_BYTES = 64 };

/* The block of a member, in its scratch memory, from which its neighbours read it. */
struct block {
    int64_t records; /* written by a leader: the offset of its own record from the user heap */
    uint64_t nbytes;
    char bytes[]; /* if the block is small */
};

/* Returns the bytes of a record's sizes on the node with the most members. */
static size_t sizes_bytes(const struct shmemi_team *t)
{
    return t->most_near * sizeof(uint64_t);
}

/* Returns the bytes of the memory of one record. */
static size_t record_limit(const struct shmemi_team *t)
{
    size_t part = shmemi_part_bytes(t), most = NODE_BYTES + sizes_bytes(t);
    return part < most ? part : most & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Reports whether each node has one member, which then writes its block to a record itself. */
static bool all_alone(const struct shmemi_team *t)
{
    return t->n == (int)t->n_nodes;
}

/* Returns the bytes of the largest small block of a team; less than 8: it exchanges none. */
static size_t limit_of(const struct shmemi_team *t)
{
    size_t used = ((size_t)t->n + 1) * sizeof(uint64_t) + sizeof(struct block);
    if (!shmemi_has_parts(t) || shmemi_model_apart() || used > t->round_size ||
        record_limit(t) < sizes_bytes(t))
        return 0;
    size_t limit = (record_limit(t) - sizes_bytes(t)) / t->most_near;
    size_t room = all_alone(t) ? limit : t->round_size - used;
    return (limit < room ? limit : room) & ~(sizeof(uint64_t) - 1);
}

/* Returns the block that a rank of this node shows. */
static struct block *block_of(const struct shmemi_small_blocks *x, int rank)
{
    const struct shmemi_state *s = &shmemi_state;
    const char *own = x->set - s->peer_base[s->my_pe] + s->peer_base[x->t->pes[rank]];
    return (struct block *)(void *)own;
}

/* Returns the bytes of a block that are in a record or a struct block. */
static size_t small_bytes(const struct shmemi_small_blocks *x, uint64_t nbytes)
{
    return nbytes <= x->limit ? nbytes : 0;
}

/* ------------------------------------------------------------------ records */

/* Reports whether leaders exchange in steps, each of which doubles what a leader has. Otherwise
 * each sends its record to all the others. */
static bool in_steps(const struct shmemi_team *t)
{
    size_t bytes = (sizeof(uint64_t) + USUAL_BYTES) * (size_t)t->n / t->n_nodes;
    return shmemi_in_pairs(t->n_nodes) || shmemi_model_doubles(t, bytes);
}

/* Returns the node whose record is at a position. Position 0 has the record of this node, and a
 * step of distance d fills the positions from d on with those of another leader's positions from 0
 * on. */
static uint32_t node_at(const struct shmemi_team *t, uint32_t position)
{
    return shmemi_in_pairs(t->n_nodes) ? t->node ^ position : shmemi_team_other_node(t, position);
}

/* Returns the bytes of the record of a node at an address, and so where the next one begins. */
static size_t record_bytes(const struct shmemi_small_blocks *x, uint32_t node, const char *record)
{
    const uint64_t *sizes = (const uint64_t *)(const void *)record;
    uint32_t n = shmemi_team_members(x->t, node);
    size_t bytes = n * sizeof *sizes;
    for (uint32_t i = 0; i < n; i++)
        bytes += small_bytes(x, sizes[i]);
    return (bytes + sizeof *sizes - 1) & ~(sizeof *sizes - 1);
}

/* Returns the bytes of the records at n positions from `first` on, one after the other. */
static size_t run_bytes(const struct shmemi_small_blocks *x, uint32_t first, uint32_t n,
                        const char *records)
{
    const char *end = records;
    for (uint32_t i = 0; i < n; i++)
        end += record_bytes(x, node_at(x->t, first + i), end);
    return (size_t)(end - records);
}

/* Returns where the record at a position is, for a leader whose own record is at `own`: behind the
 * one before it, which ends at `end`, if both came in one step. */
static const char *record_at(const struct shmemi_team *t, const char *own, uint32_t position,
                             const char *end)
{
    if (position == 0)
        return own;
    if (in_steps(t) && (position & (position - 1)) != 0)
        return end;
    return own + t->round_bytes + position * record_limit(t);
}

/* Writes the record of this node, from the blocks that its members show. Returns its bytes. */
static size_t pack_record(const struct shmemi_small_blocks *x, char *record)
{
    const struct shmemi_team *t = x->t;
    uint64_t *sizes = (uint64_t *)(void *)record;
    char *to = record + t->n_near * sizeof *sizes;
    for (uint32_t i = 0; i < t->n_near; i++) {
        const struct block *b = block_of(x, t->near[i]);
        size_t n = small_bytes(x, b->nbytes);
        sizes[i] = b->nbytes;
        memcpy(to, b->bytes, n);
        to += n;
    }
    return record_bytes(x, t->node, record);
}

/* Sends records of this leader, n bytes from its own record on, to a position at the leader of
 * `node`. They are in memory of a round, which stays unchanged until they have arrived (no list of
 * lent memory). */
static void send_records(const struct shmemi_small_blocks *x, uint32_t node, uint32_t position,
                         const char *own, size_t n)
{
    const char *at = own + x->t->round_bytes + position * record_limit(x->t);
    shmemi_message_at(x->t, x->t->leaders[node], at - shmemi_state.peer_base[shmemi_state.my_pe],
                      own, n, NULL, x->call);
}

/* Exchanges the records of leaders in steps. What a step brings is appended to what this leader
 * sends in the next one. In the last step only those records are sent that the other one lacks. */
static void exchange_in_steps(const struct shmemi_small_blocks *x, char *own, size_t bytes)
{
    struct shmemi_team *t = x->t;
    const uint32_t nodes = t->n_nodes;
    const bool pairs = shmemi_in_pairs(nodes);
    for (uint32_t distance = 1; distance < nodes; distance *= 2) {
        uint32_t n = nodes - distance < distance ? nodes - distance : distance;
        uint32_t from = node_at(t, distance);
        uint32_t to = pairs ? from : shmemi_team_other_node(t, nodes - distance);
        send_records(x, to, distance, own, n < distance ? run_bytes(x, 0, n, own) : bytes);
        shmemi_await(t, t->leaders[from], x->call);
        if (!shmemi_collective_unbroken())
            return;
        if (distance * 2 < nodes) {
            const char *in = record_at(t, own, distance, NULL);
            size_t more = run_bytes(x, distance, n, in);
            memcpy(own + bytes, in, more);
            bytes += more;
        }
    }
}

/* Exchanges the records of leaders directly. */
static void exchange_directly(const struct shmemi_small_blocks *x, const char *own, size_t bytes)
{
    struct shmemi_team *t = x->t;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        send_records(x, shmemi_team_other_node(t, i), t->n_nodes - i, own, bytes);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        shmemi_await(t, t->leaders[shmemi_team_other_node(t, i)], x->call);
}

/* Exchanges the records of nodes; the leaders call it. The record of this one is complete if its
 * node has one member, as all have then. */
static void exchange_records(const struct shmemi_small_blocks *x, char *own)
{
    const struct shmemi_team *t = x->t;
    size_t bytes = all_alone(t) ? record_bytes(x, t->node, own) : pack_record(x, own);
    if (in_steps(t))
        exchange_in_steps(x, own, bytes);
    else
        exchange_directly(x, own, bytes);
}

/* Returns the record of this node, from which those of the others follow (record_at), in the memory
 * of its leader. */
static const char *own_record(const struct shmemi_small_blocks *x)
{
    const struct shmemi_team *t = x->t;
    return shmemi_state.peer_base[t->pes[t->near[0]]] + block_of(x, t->near[0])->records;
}

/* ---------------------------------------------------------------- the calls */

/* Shows this member's block, with a copy of it if it is small. */
static void show_block(const struct shmemi_small_blocks *x, uint64_t *size, char *bytes,
                       const void *source, size_t nbytes)
{
    *size = nbytes;
    shmemi_move(bytes, source, small_bytes(x, nbytes), x->call);
}

/* Sets x->at from the sizes of all blocks. */
static void find_offsets(const struct shmemi_small_blocks *x)
{
    const struct shmemi_team *t = x->t;
    const char *own = own_record(x), *record = own;
    x->at[0] = 0;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t node = node_at(t, i);
        record = record_at(t, own, i, record);
        for (uint32_t k = 0; k < shmemi_team_members(t, node); k++)
            x->at[shmemi_team_at(t, node, k) + 1] = ((const uint64_t *)(const void *)record)[k];
        record += record_bytes(x, node, record);
    }
    for (int rank = 0; rank < t->n; rank++)
        x->at[rank + 1] += x->at[rank];
}

/* Exchanges the sizes of all blocks and the small ones: on each node, and between the nodes.
 * Without small blocks (false) x->limit is 0. */
bool shmemi_small_blocks_exchange(struct shmemi_small_blocks *x, struct shmemi_team *t,
                                  const void *source, size_t nbytes, const char *call)
{
    *x = (struct shmemi_small_blocks){.t = t, .limit = limit_of(t), .call = call};
    if (x->limit < sizeof(uint64_t))
        return false;
    x->set = shmemi_exchange_slots(t);
    struct block *mine = block_of(x, t->me);
    x->at = (uint64_t *)(void *)(x->set + t->round_size) - (t->n + 1);
    char *own = NULL; /* a leader's record */
    if (t->near_rank == 0) {
        own = shmemi_round_received(t, t->rounds_begun++) - t->round_bytes;
        mine->records = own - shmemi_state.peer_base[shmemi_state.my_pe];
    }
    if (all_alone(t))
        show_block(x, (uint64_t *)(void *)own, own + sizeof(uint64_t), source, nbytes);
    else
        show_block(x, &mine->nbytes, mine->bytes, source, nbytes);
    shmemi_sync_node(t, call);
    if (own != NULL && shmemi_collective_unbroken())
        exchange_records(x, own);
    if (!shmemi_collective_unbroken())
        return true; /* without a sync: the neighbours would read records that are not there */
    shmemi_sync_node(t, call);
    if (shmemi_collective_unbroken())
        find_offsets(x);
    return true;
}

/* Copies the small blocks of a node from its record to dest. Blocks that are side by side there are
 * one copy. */
static void place_record(const struct shmemi_small_blocks *x, char *dest, uint32_t node,
                         const char *record)
{
    const struct shmemi_team *t = x->t;
    const uint64_t *sizes = (const uint64_t *)(const void *)record;
    uint32_t n = shmemi_team_members(t, node);
    const char *from = record + n * sizeof *sizes;
    size_t to = 0, run = 0; /* the copy that is not made yet */
    for (uint32_t i = 0; i < n; i++) {
        size_t at = x->at[shmemi_team_at(t, node, i)], some = small_bytes(x, sizes[i]);
        if (at != to + run && run > 0) {
            shmemi_move(dest + to, from, run, x->call);
            from += run;
            run = 0;
        }
        to = run == 0 ? at : to;
        run += some;
    }
    shmemi_move(dest + to, from, run, x->call);
}

/* Copies the small blocks of all members from the records to dest. */
void shmemi_small_blocks_place(const struct shmemi_small_blocks *x, char *dest)
{
    const struct shmemi_team *t = x->t;
    const char *own = own_record(x), *record = own;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t node = node_at(t, i);
        record = record_at(t, own, i, record);
        place_record(x, dest, node, record);
        record += record_bytes(x, node, record);
    }
}
