/*
 * nodes.c: collect, fcollect and alltoall of a team on several nodes.
 */
#include "nodes.h"

#include "address.h"
#include "barrier.h"
#include "rounds.h"
#include "failure.h"
#include "gpu.h"
#include "message.h"
#include "remote.h"
#include "quiet.h"

/* ------------------------------------------------------------ near members */

/* Copies n bytes at `local`, memory of this PE, to an offset at a member of this node (kind is
 * SHMEMI_OPERATION_PUT), or from there to `local` (SHMEMI_OPERATION_GET). If the member's heap is
 * in memory that this process does not map, the core does it. */
static void copy_near(struct shmemi_team *t, enum shmemi_operation_kind kind, int rank,
                      int64_t offset, void *local, size_t n, const char *call)
{
    int pe = t->pes[rank];
    char *base = shmemi_reachable(pe, offset);
    if (n == 0)
        return;
    if (base == NULL)
        shmemi_net_do(&(struct shmemi_host_operation){.kind = kind,
                                                      .pe = pe,
                                                      .offset = offset,
                                                      .nbytes = n,
                                                      .source = local,
                                                      .dest = local,
                                                      .call = call});
    else if (kind == SHMEMI_OPERATION_PUT)
        shmemi_move(base + offset, local, n, call);
    else
        shmemi_move(local, base + offset, n, call);
}

/* Waits until all members of this node have called it, and the bytes that each has copied to
 * the others are visible. */
void shmemi_nodes_sync(struct shmemi_team *t, const char *call)
{
    if (shmemi_state.gpu) /* copies of the core (copy_near) may still be under way */
        shmemi_quiet_slow(SHMEM_CTX_DEFAULT, call);
    shmemi_sync_node(t, call);
}

/* ------------------------------------------------------------------ collect */

/* A collect, as one member sees it. */
struct collect {
    struct shmemi_team *t;
    int64_t dest; /* the offset of dest from the user heap */
    const struct shmemi_blocks *blocks;
    struct shmemi_lent *lent;
    const char *call;
};

/* Returns where the blocks of the ranks first to end - 1 are in dest. */
static struct shmemi_part part_of_dest(const struct collect *c, int first, int end)
{
    return shmemi_blocks_part(c->blocks, (uint32_t)first, (uint32_t)end);
}

/* Returns where the blocks of the members of n nodes from `node` on are in dest; the members' ranks
 * are consecutive. */
static struct shmemi_part nodes_part(const struct collect *c, uint32_t node, uint32_t n)
{
    return part_of_dest(c, (int)c->t->first[node], (int)c->t->first[node + n]);
}

/* Returns the address of byte `at` of this PE's dest. */
static char *own_dest(const struct collect *c, size_t at)
{
    return shmemi_reachable(shmemi_state.my_pe, c->dest) + c->dest + at;
}

/* Exchanges blocks between the first members of nodes (leaders) in pairs, at distances of 1, 2, 4
 * and so on. A leader always has the blocks of consecutive nodes, which are side by side. */
static void exchange_in_pairs(const struct collect *c)
{
    struct shmemi_team *t = c->t;
    for (uint32_t distance = 1; distance < t->n_nodes; distance *= 2) {
        uint32_t first = t->node & ~(distance - 1),
                 other_first = (t->node ^ distance) & ~(distance - 1);
        int with = t->leaders[t->node ^ distance];
        struct shmemi_part mine = nodes_part(c, first, distance);
        if (mine.bytes > 0)
            shmemi_message_at(t, with, c->dest + (int64_t)mine.at, own_dest(c, mine.at), mine.bytes,
                              c->lent, c->call);
        if (nodes_part(c, other_first, distance).bytes > 0)
            shmemi_await(t, with, c->call);
    }
}

/* Writes to parts where the blocks of n nodes from `node` on are in dest, and returns in how many
 * runs: two if the nodes pass the last one, after which comes the first. Runs without bytes are
 * left out. */
static int parts_from(const struct collect *c, uint32_t node, uint32_t n, struct shmemi_part *parts)
{
    uint32_t nodes = c->t->n_nodes, before = nodes - node < n ? nodes - node : n;
    int used = 0;
    parts[used] = nodes_part(c, node, before);
    used += parts[used].bytes > 0;
    if (n > before) {
        parts[used] = nodes_part(c, 0, n - before);
        used += parts[used].bytes > 0;
    }
    return used;
}

/* Exchanges blocks between the leaders (the first PEs of nodes) if the number of nodes is not a
 * power of two. In the step of distance d a leader has the blocks of d nodes, from its own on. It
 * sends them to the leader d nodes before it, and receives those of the leader d nodes after it; in
 * the last step only the blocks that are missing. */
static void exchange_around(const struct collect *c)
{
    struct shmemi_team *t = c->t;
    const uint32_t nodes = t->n_nodes;
    for (uint32_t distance = 1; distance < nodes && shmemi_collective_unbroken(); distance *= 2) {
        uint32_t n = nodes - distance < distance ? nodes - distance : distance;
        uint32_t from = (t->node + distance) % nodes;
        int to = t->leaders[(t->node + nodes - distance) % nodes];
        struct shmemi_part parts[2];
        int used = parts_from(c, t->node, n, parts);
        for (int i = 0; i < used; i++)
            shmemi_message_at(t, to, c->dest + (int64_t)parts[i].at, own_dest(c, parts[i].at),
                              parts[i].bytes, c->lent, c->call);
        used = parts_from(c, from, n, parts);
        for (int i = 0; i < used; i++)
            shmemi_await(t, t->leaders[from], c->call);
    }
}

/* Exchanges blocks directly: each leader sends the blocks of its node to each other leader. */
static void exchange_directly(const struct collect *c)
{
    struct shmemi_team *t = c->t;
    struct shmemi_part p = nodes_part(c, t->node, 1);
    for (uint32_t i = 1; p.bytes > 0 && i < t->n_nodes; i++)
        shmemi_message_at(t, t->leaders[shmemi_team_other_node(t, i)], c->dest + (int64_t)p.at,
                          own_dest(c, p.at), p.bytes, c->lent, c->call);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        if (nodes_part(c, shmemi_team_other_node(t, i), 1).bytes > 0)
            shmemi_await(t, t->leaders[shmemi_team_other_node(t, i)], c->call);
}

/* Performs collect with one message for each pair of nodes: the leader of each node gets the blocks
 * of its members, `bytes` on average, and exchanges them with the other leaders, and the members
 * read the result from it. The ranks of a node are consecutive, and so are its blocks. */
static void collect_packed(const struct collect *c, size_t bytes)
{
    struct shmemi_team *t = c->t;
    int leader = t->near[0];
    struct shmemi_part mine = part_of_dest(c, t->me, t->me + 1);
    if (t->me != leader)
        copy_near(t, SHMEMI_OPERATION_PUT, leader, c->dest + (int64_t)mine.at, own_dest(c, mine.at),
                  mine.bytes, c->call);
    shmemi_nodes_sync(t, c->call);
    if (t->me == leader && shmemi_in_pairs(t->n_nodes))
        exchange_in_pairs(c);
    else if (t->me == leader && shmemi_model_doubles(t, bytes))
        exchange_around(c);
    else if (t->me == leader)
        exchange_directly(c);
    shmemi_nodes_sync(t, c->call);
    if (t->me != leader && shmemi_collective_unbroken()) {
        struct shmemi_part before = part_of_dest(c, 0, t->me),
                           after = part_of_dest(c, t->me + 1, t->n);
        copy_near(t, SHMEMI_OPERATION_GET, leader, c->dest, own_dest(c, 0), before.bytes, c->call);
        copy_near(t, SHMEMI_OPERATION_GET, leader, c->dest + (int64_t)after.at,
                  own_dest(c, after.at), after.bytes, c->call);
    }
    shmemi_nodes_sync(t, c->call);
}

/* Returns the rank of the member of `node` that receives the block of the i-th member of another
 * node, and passes it on to its own node. The members share this work: with fewer of them each
 * receives several. */
static int receiver_rank(const struct shmemi_team *t, uint32_t node, uint32_t i)
{
    return shmemi_team_at(t, node, i % shmemi_team_members(t, node));
}

/* Copies the block of a rank from this PE's dest to the other members of this node. */
static void copy_to_node(const struct collect *c, int rank)
{
    struct shmemi_part p = part_of_dest(c, rank, rank + 1);
    for (uint32_t i = 1; i < c->t->n_near; i++)
        copy_near(c->t, SHMEMI_OPERATION_PUT, shmemi_team_neighbour(c->t, i),
                  c->dest + (int64_t)p.at, own_dest(c, p.at), p.bytes, c->call);
}

/* Reports whether the block of a rank still has to be sent to the other members. */
static bool is_missing(const struct collect *c, int rank)
{
    return part_of_dest(c, rank, rank + 1).bytes > c->blocks->placed;
}

/* Performs collect with a message for each block: each PE sends its block to one member of each
 * other node, which passes it on to the members of its node. */
static void collect_by_blocks(const struct collect *c)
{
    struct shmemi_team *t = c->t;
    struct shmemi_part mine = part_of_dest(c, t->me, t->me + 1);
    for (uint32_t i = 1; is_missing(c, t->me) && i < t->n_nodes; i++)
        shmemi_message_at(t, receiver_rank(t, shmemi_team_other_node(t, i), t->near_rank),
                          c->dest + (int64_t)mine.at, own_dest(c, mine.at), mine.bytes, c->lent,
                          c->call);
    if (is_missing(c, t->me))
        copy_to_node(c, t->me);
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t node = shmemi_team_other_node(t, t->n_nodes - i);
        uint32_t n = shmemi_team_members(t, node);
        for (uint32_t k = t->near_rank; k < n && shmemi_collective_unbroken(); k += t->n_near) {
            int rank = shmemi_team_at(t, node, k);
            if (!is_missing(c, rank))
                continue;
            shmemi_await(t, rank, c->call);
            copy_to_node(c, rank);
        }
    }
    shmemi_nodes_sync(t, c->call);
}

/* Performs collect over several nodes. The blocks of a node go to each other node in one message if
 * the model predicts that to be faster and all nodes have consecutive ranks, otherwise in a message
 * for each block. */
void shmemi_nodes_collect(struct shmemi_team *t, int64_t dest, const struct shmemi_blocks *blocks,
                          const char *call)
{
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    const struct collect c = {t, dest, blocks, &lent, call};
    size_t bytes = part_of_dest(&c, 0, t->n).bytes / t->n_nodes;
    if (t->consecutive && shmemi_model_packs(t, bytes))
        collect_packed(&c, bytes);
    else
        collect_by_blocks(&c);
    shmemi_lent_back(&lent, call);
}

/* ----------------------------------------------------------------- alltoall */

/* Reports whether shmemi_nodes_alltoall can serve blocks of nbytes bytes, and is faster than a
 * message for each block: all nodes have equally many members, several, with consecutive ranks, and
 * the blocks for a node's members, which are contiguous in source, fit into a part of a round's
 * memory. */
bool shmemi_nodes_swaps(const struct shmemi_team *t, size_t nbytes)
{
    return shmemi_has_parts(t) && t->consecutive && t->even && t->columns > 1 &&
           nbytes <= shmemi_part_bytes(t) / t->columns && shmemi_model_swaps_packed(t, nbytes);
}

/* Copies the blocks that a rank has sent to this node, one for each member, to where they belong in
 * dest of the members. */
void shmemi_nodes_pass_on(struct shmemi_team *t, int64_t dest, int rank, const char *blocks,
                          size_t nbytes, const char *call)
{
    for (uint32_t i = 0; i < t->n_near; i++) {
        uint32_t k = (t->near_rank + i) % t->n_near;
        copy_near(t, SHMEMI_OPERATION_PUT, t->near[k], dest + (int64_t)(nbytes * (size_t)rank),
                  (char *)blocks + nbytes * k, nbytes, call);
    }
}

/* Performs an alltoall in which each member sends the blocks for all members of a node in one
 * message, to the member with the same index on that node, and that member distributes them. */
void shmemi_nodes_alltoall(struct shmemi_team *t, char *dest, const char *source, size_t nbytes,
                           const char *call)
{
    uint64_t round = t->rounds_begun++;
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    const int64_t dest_offset = shmemi_offset(dest);
    /* Sends the blocks for other nodes, copies those for this node, and then passes on the blocks
     * for this node that arrive from others. */
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t node = shmemi_team_other_node(t, i);
        const char *part = shmemi_round_part(t, round, t->node);
        shmemi_message_at(t, shmemi_team_at(t, node, t->near_rank),
                          part - shmemi_state.peer_base[shmemi_state.my_pe],
                          source + nbytes * (size_t)t->leaders[node], nbytes * t->columns, &lent,
                          call);
    }
    shmemi_nodes_pass_on(t, dest_offset, t->me, source + nbytes * (size_t)t->near[0], nbytes, call);
    for (uint32_t i = 1; i < t->n_nodes && shmemi_collective_unbroken(); i++) {
        uint32_t node = shmemi_team_other_node(t, t->n_nodes - i);
        int from = shmemi_team_at(t, node, t->near_rank);
        shmemi_await(t, from, call);
        shmemi_nodes_pass_on(t, dest_offset, from, shmemi_round_part(t, round, node), nbytes, call);
    }
    shmemi_nodes_sync(t, call);
    shmemi_lent_back(&lent, call);
}
