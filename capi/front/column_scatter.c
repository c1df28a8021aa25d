/*
 * column_scatter.c: a reducescatter of a column in halves, for blocks so small that a message to
 * each node would cost more than to combine each of them several times.
 *
 * It is the first half of a reduction in halves (column_steps.c): in the step of a bit two nodes
 * whose numbers differ in it exchange what they have of each other's half of the nodes, and both
 * combine it. A step halves the nodes for which a node has elements, until its own are left. Each
 * node beyond the largest power of two sends all its elements to the node that is so much lower,
 * which gets the result of both, and sends it its own.
 *
 * All messages are sent from memory of the round, which stays unchanged until they have arrived:
 * send_at gets no list of lent memory (NULL).
 */
#include "column_parts.h"

#include "combine_members.h"
#include "model.h"

/* What one round reduces: n elements of each member's block, from the element `at` of the block on.
 * Below, "block" means these n elements. Blocks are in the order of the steps: behind the block of
 * a node comes that of the node beyond the power of two for which it takes part. */
struct blocks {
    const struct reduction *r;
    uint32_t power; /* the largest power of two up to the number of nodes */
    size_t at, n;
};

/* Returns how many blocks come before that of a node below the power of two, or, with node equal to
 * it, how many there are. */
static size_t before(const struct blocks *b, uint32_t node)
{
    uint32_t beyond = b->r->t->n_nodes - b->power;
    return node + (size_t)(node < beyond ? node : beyond);
}

/* Returns the bytes of some blocks. */
static size_t bytes_of(const struct blocks *b, size_t blocks)
{
    return blocks * b->n * b->r->reducer->size;
}

/* Returns the next cache line at or behind an address. */
static char *next_line(char *at)
{
    return at + (-(uintptr_t)at & (SHMEMI_CACHE_LINE - 1));
}

/* Stores at acc what the members of this node have of the block of each node. */
static void combine_own(const struct blocks *b, char *acc)
{
    const struct reduction *r = b->r;
    struct shmemi_team *t = r->t;
    for (uint32_t node = 0; node < t->n_nodes; node++) {
        size_t place = node < b->power ? before(b, node) : before(b, node - b->power) + 1;
        size_t first = (size_t)peer(r, node) * r->block_stride + b->at;
        shmemi_combine_members(t, t->near, t->n_near, acc + bytes_of(b, place),
                               r->source + first * r->reducer->size, b->n, r->reducer, r->call);
    }
}

/* Exchanges and combines in steps; acc has the blocks of all nodes, and what is received comes to
 * `in` and behind it. Two nodes of a step have received as much in earlier ones, so a node sends to
 * the address at which it receives. Of two operands the one of the node with the lower number is
 * the first, on both nodes. Returns where the result of this node is; behind it is that of the node
 * for which it takes part. */
static const char *scatter_in_steps(const struct blocks *b, char *acc, char *in)
{
    const struct reduction *r = b->r;
    const uint32_t node = r->t->node;
    uint32_t first = 0; /* of the nodes whose blocks are at acc */
    for (uint32_t bit = b->power / 2; bit > 0 && shmemi_collective_unbroken(); bit /= 2) {
        bool lower = !(node & bit);
        uint32_t kept = lower ? first : first + bit, sent = lower ? first + bit : first;
        size_t all = before(b, first), blocks = before(b, kept + bit) - before(b, kept);
        char *keep = acc + bytes_of(b, before(b, kept) - all);
        send_at(r, node ^ bit, in, acc + bytes_of(b, before(b, sent) - all),
                (before(b, sent + bit) - before(b, sent)) * b->n, NULL);
        shmemi_await(r->t, peer(r, node ^ bit), r->call);
        r->reducer->combine(lower ? keep : in, lower ? in : keep, blocks * b->n);
        acc = lower ? keep : in;
        first = kept;
        in = next_line(in + bytes_of(b, blocks));
    }
    return acc;
}

/* Reduces and scatters some elements of each block, in round k. */
static void scatter_piece(const struct blocks *b, size_t k)
{
    const struct reduction *r = b->r;
    struct shmemi_team *t = r->t;
    char *acc = sent_in(r, k), *in = received_in(r, k);
    const char *result = in; /* where a node that takes no part in the steps receives its result */
    combine_own(b, acc);
    if (t->node >= b->power) {
        send_at(r, t->node - b->power, in, acc, t->n_nodes * b->n, NULL);
        shmemi_await(t, peer(r, t->node - b->power), r->call);
    } else {
        bool for_another = t->node + b->power < t->n_nodes;
        if (for_another) {
            shmemi_await(t, peer(r, t->node + b->power), r->call);
            r->reducer->combine(acc, in, t->n_nodes * b->n);
        }
        result = scatter_in_steps(b, acc, next_line(in + bytes_of(b, t->n_nodes)));
        if (for_another)
            send_at(r, t->node + b->power, in, result + bytes_of(b, 1), b->n, NULL);
    }
    shmemi_move(r->dest + b->at * r->reducer->size, result, bytes_of(b, 1), r->call);
}

/* Reduces and scatters r->block elements of each member's block in a round, until all are done or a
 * PE is lost. */
void shmemi_column_scatter(const struct reduction *r)
{
    struct blocks b = {.r = r, .power = shmemi_power_below(r->t->n_nodes)};
    for (size_t k = 0; b.at < r->end && shmemi_collective_unbroken(); k++, b.at += r->block) {
        b.n = r->end - b.at < r->block ? r->end - b.at : r->block;
        scatter_piece(&b, k);
    }
}
