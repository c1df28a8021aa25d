/*
 * columns.c: reductions of a team on several nodes, in columns: the k-th members of all nodes are a
 * column, which reduces the k-th share of the elements (columns.h).
 *
 * A few elements, and all elements of two nodes, go straight: each member of a column sends its
 * share, which its node has combined, to all the others, and all combine in the order of nodes.
 * That takes one step of the network. With more elements and more nodes each member of
 * a column owns a block of the share. The members of a column send each other's blocks to their
 * owners, which combine them; then each owner sends the result to all. That takes two steps, and a
 * member sends and receives each element about twice, however many nodes there are. Both send a
 * message to each node of the column; column_steps.c has what takes more steps and fewer messages.
 *
 * A round begins before the last one has ended, so that the network moves bytes while the PEs
 * combine. The memory of a round has two halves: what a PE sends, and what it receives, with a
 * separate part for each node. There are four rounds: before a member sends to round k + 4, it has
 * received from each other member a message that this one sends after it has used the elements of
 * round k: the results of that round or, in a straight reduction, the share of round k + 2.
 */
#include "columns.h"

#include "barrier.h"
#include "column_parts.h"
#include "exchange.h"
#include "combine_members.h"
#include "model.h"

/* The fewest bytes for which another column is used. With fewer, the PEs of a node would send
 * several small messages where one is enough. */
#define COLUMN_BYTES ((size_t)4 << 10)

/* The smallest block: a share is not divided into more rounds if their blocks would be smaller,
 * because each message has a cost. With several columns some PEs of a node move bytes while others
 * combine. A PE that is alone on its node does both itself, so that more rounds gain it nothing. */
#define BLOCK_BYTES ((size_t)64 << 10)
#define ALONE_BLOCK_BYTES ((size_t)512 << 10)

/* Bytes that are combined at a time: a result of this size stays in the first-level cache while the
 * contributions of all nodes are combined with it. */
#define COMBINE_BYTES ((size_t)8 << 10)

/* The fewest rounds that a share is divided into, if its blocks are not smaller than BLOCK_BYTES
 * then. */
enum { ROUNDS = 4 };

/* The elements of a round: n from `at` on. Each member of the column owns (combines the
 * contributions to) `each` of them, the last members fewer or none. */
struct extent {
    size_t at, n, each;
};

/* Returns the elements that round k reduces: one block for each member of the column, or one block
 * in all (whole). The last round may have fewer. */
static struct extent extent_of(const struct reduction *r, size_t k)
{
    uint32_t owners = r->whole ? 1 : r->t->n_nodes;
    size_t at = r->first + k * r->block * owners, left = r->end - at;
    size_t n = left < r->block * owners ? left : r->block * owners;
    return (struct extent){at, n, (n + owners - 1) / owners};
}

/* Returns how many elements of a round the column's member on a node owns, which means that it
 * combines the contributions of all nodes to them. In a reducescatter all elements of a round have
 * the same owner. */
static size_t owned_elements(const struct extent *e, uint32_t node, bool scatter)
{
    size_t before = scatter ? 0 : node * e->each;
    size_t left = before < e->n ? e->n - before : 0;
    return left < e->each ? left : e->each;
}

/* Returns the address at which this PE receives what the column's member on a node sends in round
 * k. */
static char *part_of(const struct reduction *r, size_t k, uint32_t node)
{
    return shmemi_round_part(r->t, r->round + k, node);
}

/* Goes through the other nodes, beginning with the next one, so that not all nodes send to the same
 * one at the same time. */
#define EACH_OTHER_NODE(t, node)                                                                   \
    for (uint32_t step_ = 1, node = ((t)->node + 1) % (t)->n_nodes; step_ < (t)->n_nodes;          \
         step_++, node = (node + 1) % (t)->n_nodes)

/* Reports whether this PE sends its contribution directly from source: it is the only member on its
 * node, so that it has nothing to combine there. */
static bool sends_from_source(const struct reduction *r)
{
    return r->t->n_near == 1 && shmemi_loads(r->source);
}

/* Reports whether messages may read source until the end of the call, without a reply that they
 * have arrived: no results overwrite the elements meanwhile. */
static bool lends_source(const struct reduction *r)
{
    return sends_from_source(r) && r->source != r->dest;
}

/* Combines the contributions of all nodes to round k, and stores the result at `to`, in the order
 * of nodes; own is the contribution of this node. */
static void combine_nodes(const struct reduction *r, size_t k, char *to, const char *own, size_t n)
{
    const struct shmemi_team *t = r->t;
    size_t size = r->reducer->size, piece = COMBINE_BYTES / size;
    for (size_t done = 0; done < n; done += piece) {
        size_t some = n - done < piece ? n - done : piece, at = done * size;
        for (uint32_t node = 0; node < t->n_nodes; node++) {
            const char *in = node == t->node ? own : part_of(r, k, node);
            if (node == 0)
                memcpy(to + at, in + at, some * size);
            else
                r->reducer->combine(to + at, in + at, some);
        }
    }
}

/* ----------------------------------------------------------------- straight */

/* Returns the address of this node's contribution to round k: in source, or in this node's part of
 * the round's memory, into which send_share combines it. */
static const char *share_of(const struct reduction *r, size_t k, const struct extent *e)
{
    return lends_source(r) ? r->source + e->at * r->reducer->size : part_of(r, k, r->t->node);
}

/* Sends this node's contribution to round k to the column's member on each other node. */
static void send_share(const struct reduction *r, size_t k)
{
    struct shmemi_team *t = r->t;
    const struct extent e = extent_of(r, k);
    char *own = part_of(r, k, t->node);
    const char *share = share_of(r, k, &e);
    if (share == own)
        shmemi_combine_members(t, t->near, t->n_near, own, r->source + e.at * r->reducer->size, e.n,
                               r->reducer, r->call);
    EACH_OTHER_NODE (t, node)
        send_at(r, node, own, share, e.n, lends_source(r) ? r->lent : NULL);
}

/* Waits for the contributions of all nodes to round k, and combines them into dest of all members
 * of this node. Messages may still read this node's own contribution, so the result is stored in
 * other memory. */
static void combine_shares(const struct reduction *r, size_t k)
{
    struct shmemi_team *t = r->t;
    const struct extent e = extent_of(r, k);
    char *all = target_of(r, e.at, sent_in(r, k));
    EACH_OTHER_NODE (t, node)
        shmemi_await(t, peer(r, node), r->call);
    if (!shmemi_collective_unbroken())
        return;
    combine_nodes(r, k, all, share_of(r, k, &e), e.n);
    copy_to_node(r, e.at, all, e.n);
}

/* Returns the number of rounds (pieces with buffers of their own) in which a column reduces its
 * share of the elements. */
static size_t rounds_of(const struct reduction *r)
{
    size_t round = r->block * (r->whole ? 1 : r->t->n_nodes);
    return (r->end - r->first + round - 1) / round;
}

/* Reduces without owners of blocks (straight): every member of a column combines the contributions
 * of all nodes. A round is combined after the next one has been sent, so there is one iteration
 * more than there are rounds. */
static void reduce_straight(const struct reduction *r)
{
    size_t rounds = rounds_of(r);
    for (size_t k = 0; k < rounds + 1 && shmemi_collective_unbroken(); k++) {
        if (k < rounds)
            send_share(r, k);
        if (k >= 1)
            combine_shares(r, k - 1);
    }
}

/* ------------------------------------------------------------- with owners */

/* Returns the index in source of the block that the column's member on `node` owns in a round. */
static size_t block_at(const struct reduction *r, const struct extent *e, uint32_t node)
{
    return r->scatter ? e->at + (size_t)peer(r, node) * r->block_stride : e->at + node * e->each;
}

/* Returns the address of this node's contribution to the block of the member on `node` in round k:
 * in source, or in the memory from which this PE sends. Both stay unchanged until the message has
 * arrived: the result that the owner sends back shows that. */
static const char *contribution_at(const struct reduction *r, size_t k, const struct extent *e,
                                   uint32_t node)
{
    if (sends_from_source(r))
        return r->source + block_at(r, e, node) * r->reducer->size;
    return sent_in(r, k) + node * r->block * r->reducer->size;
}

/* Combines the contributions of this node's members to the block of the member on `node`, and
 * returns the address of the combination. */
static const char *combine_on_node(const struct reduction *r, size_t k, const struct extent *e,
                                   uint32_t node, size_t n)
{
    const char *at = contribution_at(r, k, e, node);
    if (!sends_from_source(r))
        shmemi_combine_members(r->t, r->t->near, r->t->n_near, (char *)at,
                               r->source + block_at(r, e, node) * r->reducer->size, n, r->reducer,
                               r->call);
    return at;
}

/* For each block of round k, combines the contributions of this node's PEs, and sends the result to
 * the column's member that owns the block. The contribution to this PE's own block is not sent:
 * combine_and_send() reads it where it is. */
static void send_contributions(const struct reduction *r, size_t k)
{
    struct shmemi_team *t = r->t;
    const struct extent e = extent_of(r, k);
    const char *own = part_of(r, k, t->node);
    EACH_OTHER_NODE (t, node) {
        size_t n = owned_elements(&e, node, r->scatter);
        if (n > 0)
            send_at(r, node, own, combine_on_node(r, k, &e, node, n), n, NULL);
    }
    size_t n = owned_elements(&e, t->node, r->scatter);
    if (n > 0)
        combine_on_node(r, k, &e, t->node, n);
}

/* Called by the owner of a block in round k: combines the contributions of all nodes, and sends the
 * result to the whole column. For a reducescatter it copies the result to its own dest, and sends
 * the others only a message that it has used their contributions. */
static void combine_and_send(const struct reduction *r, size_t k)
{
    struct shmemi_team *t = r->t;
    const struct extent e = extent_of(r, k);
    size_t n = owned_elements(&e, t->node, r->scatter), size = r->reducer->size;
    char *result = part_of(r, k, t->node);
    if (n == 0)
        return;
    EACH_OTHER_NODE (t, node)
        shmemi_await(t, peer(r, node), r->call);
    combine_nodes(r, k, result, contribution_at(r, k, &e, t->node), n);
    if (r->scatter) {
        shmemi_move(r->dest + (e.at - r->first) * size, result, n * size, r->call);
        EACH_OTHER_NODE (t, node)
            shmemi_message(t, peer(r, node), r->call);
        return;
    }
    char *at = r->dest + block_at(r, &e, t->node) * size;
    EACH_OTHER_NODE (t, node)
        shmemi_message_data(t, peer(r, node), at, result, n * size, NULL, r->call);
    shmemi_move(at, result, n * size, r->call);
}

/* Waits for the results of round k from the members of the column that own them (for a
 * reducescatter: for their messages that they have used this PE's contributions), and copies the
 * results to the other members of the node. */
static void await_results(const struct reduction *r, size_t k)
{
    struct shmemi_team *t = r->t;
    const struct extent e = extent_of(r, k);
    size_t size = r->reducer->size;
    EACH_OTHER_NODE (t, node)
        if (owned_elements(&e, node, r->scatter) > 0)
            shmemi_await(t, peer(r, node), r->call);
    if (r->scatter || !shmemi_collective_unbroken())
        return;
    char *at = r->dest + e.at * size;
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_put(SHMEM_CTX_DEFAULT, at, at, e.n * size, t->pes[shmemi_team_neighbour(t, i)],
                   r->call);
}

/* Reduces so that each member of the column owns a block of each round: it combines the
 * contributions to that block, and sends the result to all. A PE must await the messages of another
 * PE in the order in which that PE sends them: first its contribution to round k, then its result
 * of round k - 1. So iteration k sends round k, combines round k - 1 and awaits the results of
 * round k - 2, and there are two iterations more than rounds. */
static void reduce_by_owners(const struct reduction *r)
{
    size_t rounds = rounds_of(r);
    for (size_t k = 0; k < rounds + 2 && shmemi_collective_unbroken(); k++) {
        if (k < rounds)
            send_contributions(r, k);
        if (k >= 1 && k - 1 < rounds)
            combine_and_send(r, k - 1);
        if (k >= 2)
            await_results(r, k - 2);
    }
}

/* ------------------------------------------------------------------ the calls */

/* Returns how many elements a member's block has in a round, at least 1: a quarter of its part of
 * the share, so that there are several rounds (ROUNDS), but not so few that messages cost more than
 * they gain, nor more than fit into a part of the round's memory. size: bytes of an element.
 * owners: among how many blocks a round is divided. */
static size_t block_of(const struct shmemi_team *t, size_t share, size_t size, uint32_t owners)
{
    size_t limit = shmemi_part_bytes(t) / size; /* not 0: every element is smaller than a part */
    bool alone = t->n == (int)t->n_nodes;
    size_t worth = (alone ? ALONE_BLOCK_BYTES : BLOCK_BYTES) / size;
    size_t least = worth < limit ? worth : limit;
    size_t block = (share + ROUNDS * owners - 1) / (ROUNDS * owners);
    return block < least ? least : block > limit ? limit : block;
}

/* Reduces the elements of this PE's share (the k-th PEs of all nodes reduce the k-th share) by the
 * method that the cost model predicts to be fastest. Adds its rounds to the team's count, which
 * selects the memory of the next reduction's first round. */
static void reduce_share(struct reduction *r)
{
    struct shmemi_team *t = r->t;
    size_t share = r->end - r->first, size = r->reducer->size;
    enum shmemi_reduction how = shmemi_model_reduction(t, share * size);
    r->whole = how != SHMEMI_OWNERS;
    if (how == SHMEMI_PAIRS || how == SHMEMI_HALVES) {
        size_t limit = how == SHMEMI_PAIRS ? shmemi_pairs_limit(t) : shmemi_halves_limit(t);
        r->block = share * size < limit ? share : limit / size;
    } else {
        r->block = block_of(t, share, size, r->whole ? 1 : t->n_nodes);
    }
    t->rounds_begun += rounds_of(r);
    switch (how) {
    case SHMEMI_STRAIGHT:
        reduce_straight(r);
        return;
    case SHMEMI_PAIRS:
        shmemi_column_pairs(r);
        return;
    case SHMEMI_HALVES:
        shmemi_column_halves(r);
        return;
    case SHMEMI_OWNERS:
        reduce_by_owners(r);
        return;
    }
}

/* Reduces so few elements that they fit in a slot of the team's memory for exchanges: the first
 * member of each node combines those of its node, these leaders exchange the results, and each
 * writes the sum to the members of its node. Members that are no leaders do nothing, and get the
 * result by the sync that follows in shmemi_columns_reduce. */
static void reduce_few(const struct reduction *r, size_t nelems)
{
    struct shmemi_team *t = r->t;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_SLOT];
    if (t->near_rank == 0)
        shmemi_combine_members(t, t->near, t->n_near, acc, r->source, nelems, r->reducer, r->call);
    shmemi_exchange_leaders(t, acc, nelems, r->reducer, r->call);
    for (uint32_t i = 0; t->near_rank == 0 && i < t->n_near; i++)
        shmemi_put(SHMEM_CTX_DEFAULT, r->dest, acc, nelems * r->reducer->size, t->pes[t->near[i]],
                   r->call);
}

/* Divides the elements among the columns (the k-th PEs of all nodes), and reduces the share of this
 * PE's column; few elements may go by the leaders instead (reduce_few). */
void shmemi_columns_reduce(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                           const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size;
    /* The elements of a cache line, at least 1. A share is a whole number of lines. */
    size_t line = SHMEMI_CACHE_LINE / size + !(SHMEMI_CACHE_LINE / size);
    size_t columns = nelems * size / COLUMN_BYTES + 1;
    if (columns > t->columns)
        columns = t->columns;
    size_t share = ((nelems + columns - 1) / columns + line - 1) / line * line;
    size_t first = t->near_rank * share, end = first + share < nelems ? first + share : nelems;
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    struct reduction r = {.t = t,
                          .dest = dest,
                          .source = source,
                          .lent = &lent,
                          .first = first,
                          .end = end,
                          .round = t->rounds_begun,
                          .reducer = reducer,
                          .call = call};
    shmemi_sync_node(t, call); /* source is then ready on all members of this node */
    /* The leaders exchange few elements if they do that in pairs (exchange.c), which they do if
     * they are many or the model finds it faster. With a power of two of nodes reduce_share
     * chooses: it can reduce in pairs, too. */
    if (nelems * size <= t->slot_size && !shmemi_in_pairs(t->n_nodes) &&
        (t->n_nodes > SHMEMI_DIRECT_PES || shmemi_model_pairs(t->n_nodes, nelems * size))) {
        reduce_few(&r, nelems);
    } else if (t->near_rank < columns && first < end && shmemi_collective_unbroken()) {
        reduce_share(&r);
        shmemi_lent_back(&lent, call);
    }
    if (shmemi_state.gpu) /* the results that were put to GPU memory must be complete */
        shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    shmemi_sync_node(t, call);
}

/* Performs a reducescatter for a team on several nodes: each member owns, and gets, one block of
 * the result. The owner combines the contributions to it, and the others only learn that it has
 * used theirs; or nodes combine in pairs (column_scatter.c). */
void shmemi_columns_scatter(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call)
{
    struct reduction r = {.t = t,
                          .dest = dest,
                          .source = source,
                          .end = nelems,
                          .block = block_of(t, nelems, reducer->size, /* owners */ 1),
                          .block_stride = nelems,
                          .scatter = true,
                          .whole = true,
                          .round = t->rounds_begun,
                          .reducer = reducer,
                          .call = call};
    size_t limit = shmemi_scatter_limit(t) / reducer->size;
    bool halves =
        nelems > 0 && shmemi_model_scatters_in_halves(t, nelems * reducer->size, reducer->size);
    if (halves)
        r.block = nelems < limit ? nelems : limit;
    shmemi_sync_node(t, call);
    t->rounds_begun += rounds_of(&r);
    if (halves)
        shmemi_column_scatter(&r);
    else
        reduce_by_owners(&r);
    shmemi_sync_node(t, call);
}
