/*
 * column_steps.c: reductions of a column in steps, in each of which a node exchanges elements with
 * one other node.
 *
 * In pairs: in step k nodes whose numbers differ in bit k exchange all elements as combined so far,
 * and both combine them. n nodes take log2 n steps, and send all elements in each.
 *
 * In halves: in step k each of the two nodes combines one half of the elements that they still
 * share, and sends the other half. At the end each node has the result of its own part. The same
 * steps in reverse send the parts to all nodes. That takes twice the steps, and a node sends each
 * element twice at most.
 *
 * Nodes beyond the largest power of two do not take part. Each sends its elements to a node that
 * does, before the first step, and gets the result from it after the last one.
 *
 * No call returns before all nodes have begun it, because the result has elements of each. So a
 * node that begins round k + 2 knows that all have left round k, and may write to its memory.
 *
 * All messages are sent from memory of a round, or from dest, which stays unchanged until they have
 * arrived: send_at gets no list of lent memory (NULL).
 */
#include "column_parts.h"

#include "combine_members.h"
#include "model.h"

/* Returns the largest power of two up to the number of the team's nodes. */
static uint32_t power_of(const struct shmemi_team *t)
{
    return shmemi_power_below(t->n_nodes);
}

/* Reports whether this node also takes part for another node, one of those beyond the largest power
 * of two. */
static bool stands_for_another(const struct shmemi_team *t)
{
    return t->node + power_of(t) < t->n_nodes;
}

/* Returns the bytes between the memory of one step and that of the next: nelems elements, rounded
 * up to whole cache lines. */
static size_t line_bytes(const struct reduction *r, size_t nelems)
{
    return (nelems * r->reducer->size + SHMEMI_CACHE_LINE - 1) & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Combines to acc the n elements, from the element `at` of source on, of this node's members, and
 * those of the node for which it takes part. Returns false on a node that takes no part in the
 * steps: it has sent its elements to another node, and acc has received the result of all nodes. */
static bool begin_steps(const struct reduction *r, size_t k, char *acc, size_t at, size_t n)
{
    struct shmemi_team *t = r->t;
    uint32_t power = power_of(t);
    char *in = received_in(r, k);
    shmemi_combine_members(t, t->near, t->n_near, acc, r->source + at * r->reducer->size, n,
                           r->reducer, r->call);
    if (t->node >= power) {
        send_at(r, t->node - power, in, acc, n, NULL);
        shmemi_await(t, peer(r, t->node - power), r->call);
        return false;
    }
    if (stands_for_another(t)) {
        shmemi_await(t, peer(r, t->node + power), r->call);
        r->reducer->combine(acc, in, n);
    }
    return true;
}

/* Sends the result to the node for which this one takes part, to the memory from which that node
 * sent its own elements. */
static void send_result_back(const struct reduction *r, size_t k, const char *result, size_t n)
{
    if (stands_for_another(r->t))
        send_at(r, r->t->node + power_of(r->t), sent_in(r, k), result, n, NULL);
}

/* Reduces n elements, from the element `at` on, in round k in pairs. A node's message may still be
 * under way when the other node's has arrived, so each step has memory of its own. Of two operands
 * the one of the node with the lower number is the first, on both nodes: so all nodes get the same
 * result bit for bit. */
static void in_pairs(const struct reduction *r, size_t k, size_t at, size_t n)
{
    struct shmemi_team *t = r->t;
    size_t step = line_bytes(r, n);
    char *acc = sent_in(r, k), *in = received_in(r, k);
    bool takes_part = begin_steps(r, k, acc, at, n);
    for (uint32_t bit = 1; takes_part && bit < power_of(t) && shmemi_collective_unbroken();
         bit *= 2) {
        bool lower = !(t->node & bit);
        char *combined = acc + step;
        if (bit * 2 == power_of(t) && !stands_for_another(t))
            combined = target_of(r, at, combined);
        in += step;
        send_at(r, t->node ^ bit, in, acc, n, NULL);
        shmemi_await(t, peer(r, t->node ^ bit), r->call);
        memcpy(combined, lower ? acc : in, n * r->reducer->size);
        r->reducer->combine(combined, lower ? in : acc, n);
        acc = combined;
    }
    if (takes_part)
        send_result_back(r, k, acc, n);
    copy_to_node(r, at, acc, n);
}

/* A range of the round's elements: those that a node still has to combine. */
struct range {
    size_t first, end;
};

/* Returns the half of the elements that a node of a pair goes on combining: the lower half for the
 * node with the lower number. With an odd number the lower half has one more. */
static struct range half_of(struct range both, bool lower)
{
    size_t middle = both.first + (both.end - both.first + 1) / 2;
    return lower ? (struct range){both.first, middle} : (struct range){middle, both.end};
}

/* Returns the number of elements of a range. */
static size_t element_count(struct range range)
{
    return range.end - range.first;
}

/* Combines this node's part of the elements. The two nodes of a step share the same elements, and
 * have received earlier messages at the same offsets, so `in` has the same offset on both: a node
 * sends to the address at which it receives. Returns the number of steps; before[i] is the range
 * that the two nodes of step i shared, and *mine the range whose result this node has in acc at the
 * end. */
static uint32_t scatter_halves(const struct reduction *r, size_t k, char *acc, size_t n,
                               struct range *before, struct range *mine)
{
    struct shmemi_team *t = r->t;
    size_t size = r->reducer->size;
    char *in = received_in(r, k) + line_bytes(r, n);
    char *have = acc; /* where the elements of *mine are, as combined so far: in acc or received */
    uint32_t steps = 0;
    *mine = (struct range){0, n};
    for (; 1u << steps < power_of(t) && shmemi_collective_unbroken(); steps++) {
        uint32_t partner = t->node ^ 1u << steps;
        bool lower = partner > t->node;
        struct range kept = half_of(*mine, lower), sent = half_of(*mine, !lower);
        char *keep = have + (kept.first - mine->first) * size;
        if (element_count(sent) > 0)
            send_at(r, partner, in, have + (sent.first - mine->first) * size, element_count(sent),
                    NULL);
        if (element_count(kept) > 0) {
            shmemi_await(t, peer(r, partner), r->call);
            r->reducer->combine(lower ? keep : in, lower ? in : keep, element_count(kept));
        }
        have = lower ? keep : in;
        before[steps] = *mine;
        *mine = kept;
        in += line_bytes(r, element_count(kept));
    }
    memmove(acc + mine->first * size, have, element_count(*mine) * size);
    return steps;
}

/* Reduces n elements, from the element `at` on, in round k in halves. A node has read the elements
 * that the other one sent before the result for them arrives, so the result may overwrite them. */
static void in_halves(const struct reduction *r, size_t k, size_t at, size_t n)
{
    struct shmemi_team *t = r->t;
    size_t size = r->reducer->size;
    struct range before[32], mine; /* 32: n_nodes has 32 bits, so there are no more steps */
    char *acc = sent_in(r, k);
    if (begin_steps(r, k, acc, at, n)) {
        uint32_t steps = scatter_halves(r, k, acc, n, before, &mine);
        while (steps-- > 0 && shmemi_collective_unbroken()) {
            uint32_t partner = t->node ^ 1u << steps;
            const char *result = acc + mine.first * size;
            if (element_count(mine) > 0)
                send_at(r, partner, result, result, element_count(mine), NULL);
            if (element_count(before[steps]) > element_count(mine))
                shmemi_await(t, peer(r, partner), r->call);
            mine = before[steps];
        }
        send_result_back(r, k, acc, n);
    }
    copy_to_node(r, at, acc, n);
}

/* Reduces the elements of this PE's share in rounds of r->block elements each, with the function
 * `reduce` (reduction, number of the round, first element, number of elements), until all are
 * reduced or a PE is lost. */
static void reduce_in_rounds(const struct reduction *r,
                             void (*reduce)(const struct reduction *, size_t, size_t, size_t))
{
    size_t k = 0;
    for (size_t at = r->first; at < r->end && shmemi_collective_unbroken(); at += r->block)
        reduce(r, k++, at, r->end - at < r->block ? r->end - at : r->block);
}

/* Reduces in pairs: in each step two nodes exchange all elements. */
void shmemi_column_pairs(const struct reduction *r)
{
    reduce_in_rounds(r, in_pairs);
}

/* Reduces in halves: in each step two nodes exchange one half of the elements. */
void shmemi_column_halves(const struct reduction *r)
{
    reduce_in_rounds(r, in_halves);
}
