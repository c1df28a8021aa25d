/*
 * column_dest.c: reductions of a team on several nodes that need no memory but dest: for teams
 * whose rounds are small, or that have none, and for active sets.
 *
 * The k-th members of all nodes are a column, which reduces the k-th share of the elements, as in
 * columns.c. Until the end a PE's dest belongs to its own column. It has its node's contributions
 * where its share is, and receives those of the other nodes to its own block where the next share
 * is. So there have to be two columns: a PE that is alone on its node has no place to receive.
 *
 * Each PE of a column owns the block of its node. It sends the other blocks to their owners,
 * combines what it receives, and sends the result to all, where they had their contribution to it:
 * the owner has received that, so nobody needs it any more. Then each PE copies its share to the
 * other members of its node.
 */
#include "column_dest.h"

#include "activeset_messages.h"
#include "address.h"
#include "barrier.h"
#include "combine_members.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "message.h"

/* A reduction as one PE sees it. */
struct in_dest {
    struct shmemi_team *t;
    const char *source;
    size_t first;    /* the first element of this PE's share */
    size_t block;    /* elements of a block; a share has one for each node */
    char *share;     /* this PE's share in its dest */
    char *received;  /* where it receives the contributions to its block, in the order of nodes */
    size_t n_others; /* how many other PEs the column has */
    struct shmemi_lent *lent;
    const struct shmemi_reducer *reducer;
    const char *call;
};

/* Goes through the other nodes, beginning with the next one, so that not all nodes send to the same
 * one at the same time. */
#define EACH_OTHER_NODE(t, node)                                                                   \
    for (uint32_t step_ = 1, node = ((t)->node + 1) % (t)->n_nodes; step_ < (t)->n_nodes;          \
         step_++, node = (node + 1) % (t)->n_nodes)

/* Returns how many of nelems elements can be reduced in dest: the largest multiple of the number of
 * PEs that share the work, which is a block for each. t->columns is the number of members of the
 * node with the fewest; members beyond it take no part. Returns 0 if there is only one column. */
size_t shmemi_column_dest_elements(const struct shmemi_team *t, size_t nelems)
{
    size_t sharing = (size_t)t->columns * t->n_nodes;
    return t->columns < 2 ? 0 : nelems / sharing * sharing;
}

/* Returns the rank of the PE of this column on a node. */
static int peer(const struct in_dest *r, uint32_t node)
{
    return shmemi_team_at(r->t, node, r->t->near_rank);
}

/* Returns the address of block `node` of those that begin at `blocks`. */
static char *block_at(const struct in_dest *r, char *blocks, uint32_t node)
{
    return blocks + r->block * node * r->reducer->size;
}

/* Sends the block at `from` to the PE of this column on a node, to the symmetric address `to`
 * there. An active set counts the message in word `word` of pSync; a team does not use `word`. */
static void send_block(const struct in_dest *r, uint32_t node, int word, char *to, const char *from)
{
    size_t n = r->block * r->reducer->size;
    if (r->t->psync != NULL)
        shmemi_activeset_message_data(r->t, peer(r, node), word, to, from, n, r->call);
    else
        shmemi_message_data(r->t, peer(r, node), to, from, n, r->lent, r->call);
}

/* Waits for a block of each other PE of this column, sent with the same `word`. */
static void await_blocks(const struct in_dest *r, int word)
{
    if (r->t->psync != NULL) {
        shmemi_activeset_await(r->t, word, r->n_others, r->call);
        return;
    }
    EACH_OTHER_NODE (r->t, node)
        shmemi_await(r->t, peer(r, node), r->call);
}

/* Stores n bytes at an address of this PE's dest, which may be in the memory of a GPU. */
static void store(const struct in_dest *r, char *to, const void *from, size_t n)
{
    shmemi_put(SHMEM_CTX_DEFAULT, to, from, n, shmemi_state.my_pe, r->call);
}

/* Waits until what `store` and puts to the node's other members have written is there: copies to
 * the memory of a GPU may still be under way. */
static void complete_stores(const struct in_dest *r)
{
    if (shmemi_state.gpu)
        shmemi_quiet(SHMEM_CTX_DEFAULT, r->call);
}

/* Combines the elements that the members of this node have of this PE's share. Of a piece all are
 * read before the combination is stored, so dest may be source: no other PE reads this share. */
static void combine_share(const struct in_dest *r)
{
    struct shmemi_team *t = r->t;
    size_t size = r->reducer->size, piece = SHMEMI_PIECE / size, n = r->block * t->n_nodes;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE];
    for (size_t at = 0; at < n; at += piece) {
        size_t k = n - at < piece ? n - at : piece;
        shmemi_combine_members(t, t->near, t->n_near, acc, r->source + (r->first + at) * size, k,
                               r->reducer, r->call);
        store(r, r->share + at * size, acc, k * size);
    }
    complete_stores(r);
}

/* Combines the contributions of all nodes to this PE's own block, in the order of nodes. */
static void combine_block(const struct in_dest *r)
{
    const struct shmemi_team *t = r->t;
    size_t size = r->reducer->size, piece = SHMEMI_PIECE / size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE], fetched[SHMEMI_PIECE];
    char *own = block_at(r, r->share, t->node);
    for (size_t at = 0; at < r->block; at += piece) {
        size_t k = r->block - at < piece ? r->block - at : piece;
        for (uint32_t node = 0; node < t->n_nodes; node++) {
            const char *from = node == t->node ? own : block_at(r, r->received, node);
            const void *in = shmemi_near(from + at * size, shmemi_state.my_pe);
            if (in == NULL) {
                shmemi_get(SHMEM_CTX_DEFAULT, fetched, from + at * size, k * size,
                           shmemi_state.my_pe, r->call);
                in = fetched;
            }
            if (node == 0)
                memcpy(acc, in, k * size);
            else
                r->reducer->combine(acc, in, k);
        }
        store(r, own + at * size, acc, k * size);
    }
    complete_stores(r);
}

/* Reduces this PE's share, with the other PEs of its column. */
static void reduce_share(const struct in_dest *r)
{
    struct shmemi_team *t = r->t;
    char *own = block_at(r, r->share, t->node);
    EACH_OTHER_NODE (t, node)
        send_block(r, node, SHMEMI_DATA, block_at(r, r->received, t->node),
                   block_at(r, r->share, node));
    await_blocks(r, SHMEMI_DATA);
    if (!shmemi_collective_unbroken())
        return;
    combine_block(r);
    EACH_OTHER_NODE (t, node)
        send_block(r, node, SHMEMI_READ, own, own);
    await_blocks(r, SHMEMI_READ);
}

/* Reduces in columns. The first sync shows that source is ready on all members of this node. If
 * dest is source, no PE may receive before the members of its node have read the elements that it
 * receives on, so all PEs sync between the two steps. Puts to the dest of other members of the node
 * begin after a sync, when these no longer receive there, and end before the last one. */
void shmemi_column_dest(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                        const struct shmemi_reducer *reducer, const char *call)
{
    size_t share = nelems / t->columns;
    uint32_t next = (t->near_rank + 1) % t->columns;
    bool takes_part = t->near_rank < t->columns;
    struct shmemi_lent lent;
    struct in_dest r = {.t = t,
                        .source = source,
                        .first = share * t->near_rank,
                        .block = share / t->n_nodes,
                        .share = dest + share * t->near_rank * reducer->size,
                        .received = dest + share * next * reducer->size,
                        .n_others = t->n_nodes - 1,
                        .lent = &lent,
                        .reducer = reducer,
                        .call = call};
    shmemi_lent_begin(&lent);
    shmemi_sync_node(t, call);
    if (takes_part && shmemi_collective_unbroken())
        combine_share(&r);
    if (dest == source)
        shmemi_sync_members(t, call);
    if (takes_part && shmemi_collective_unbroken())
        reduce_share(&r);
    if (t->psync != NULL)
        shmemi_activeset_release(r.block * reducer->size, call);
    shmemi_lent_back(&lent, call);
    shmemi_sync_node(t, call);
    for (uint32_t i = 1; takes_part && i < t->n_near && shmemi_collective_unbroken(); i++)
        shmemi_put(SHMEM_CTX_DEFAULT, r.share, r.share, share * reducer->size,
                   t->pes[shmemi_team_neighbour(t, i)], call);
    complete_stores(&r);
    shmemi_sync_node(t, call);
}
