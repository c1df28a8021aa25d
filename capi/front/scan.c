/*
 * scan.c: scans of a team.
 */
#include "reduce.h"

#include "address.h"
#include "barrier.h"
#include "collective_arguments.h"
#include "rounds.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "combine_members.h"
#include "gpu.h"
#include "lines.h"
#include "message.h"
#include "team_ids.h"

/* Scans in pieces: each PE combines the elements of the first n_ranks PEs, piece by piece; 0, which
 * is so at the first PE of an exclusive scan: its result is zeros. No PE writes a piece before all
 * PEs have read it, so dest may be source. */
static void scan_pieces(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                        int n_ranks, const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size, piece = SHMEMI_PIECE / size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE];
    shmemi_sync_members(t, call);
    for (size_t at = 0; at < nelems; at += piece) {
        size_t k = nelems - at < piece ? nelems - at : piece;
        shmemi_combine_members(t, NULL, (uint32_t)n_ranks, acc, source + at * size, k, reducer,
                               call);
        shmemi_sync_members(t, call);
        if (n_ranks > 0)
            shmemi_move(dest + at * size, acc, k * size, call);
        else
            shmemi_clear(dest + at * size, k * size, call);
    }
}

/* Scans so few elements that they fit into a slot of the team's scratch memory. An inclusive scan
 * is the prefix up to this PE. For an exclusive one each PE passes its prefix to the next PE. */
static void scan_small(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                       bool inclusive, const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_SLOT];
    shmemi_move(acc, source, bytes, call);
    shmemi_exchange_prefix(t, acc, nelems, reducer, call);
    if (inclusive) {
        shmemi_move(dest, acc, bytes, call);
        return;
    }
    if (t->me + 1 < t->n)
        /* No list of lent memory (NULL): so few bytes are copied when they are posted. */
        shmemi_message_data(t, t->me + 1, dest, acc, bytes, NULL, call);
    if (t->me > 0)
        shmemi_await(t, t->me - 1, call);
    else
        shmemi_clear(dest, bytes, call);
}

/* ------------------------------------------------------------ node by node */

/* Returns the bytes of one part of a round's memory when leaders exchange in steps: each step has a
 * part for what it sends, and so has the result of the last step. A piece of the scan must fit in a
 * part. */
static size_t scan_part(const struct shmemi_team *t)
{
    uint32_t steps = shmemi_steps_in_pairs(t->n_nodes) + 1;
    return t->round_bytes / (steps + 1) & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Reports whether the first PEs of the nodes exchange in steps: if a round's memory has no part for
 * each node, which exchange_totals needs, or if the model predicts that steps take less time. The
 * prediction is for a few elements: the choice has to be made before the elements are divided into
 * pieces, because it determines the size of a piece. */
static bool in_steps(const struct shmemi_team *t)
{
    return !shmemi_has_parts(t) || shmemi_model_pairs(t->n_nodes, SHMEMI_LINE_DATA);
}

/* A piece of a scan of a team whose nodes have consecutive ranks. */
struct piece {
    struct shmemi_team *t;
    char *dest;
    const char *source;
    size_t n; /* elements */
    bool inclusive;
    const struct shmemi_reducer *reducer;
    const char *call;
};

/* Exchanges the totals of nodes for a piece: the first member of each node (its leader) combines
 * the elements of its members, and sends the result to all other leaders, into the parts of a
 * round's memory, which stays unchanged until it has arrived (no list of lent memory). `before`
 * becomes the combination of the nodes before this one, if there are any.
 */
static void exchange_totals(const struct piece *p, char *before)
{
    struct shmemi_team *t = p->t;
    uint64_t round = t->rounds_begun++;
    size_t bytes = p->n * p->reducer->size;
    char *my_total = shmemi_round_part(t, round, t->node);
    shmemi_combine_members(t, t->near, t->n_near, my_total, p->source, p->n, p->reducer, p->call);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        shmemi_message_at(t, t->leaders[shmemi_team_other_node(t, i)],
                          my_total - shmemi_state.peer_base[shmemi_state.my_pe], my_total, bytes,
                          NULL, p->call);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        shmemi_await(t, t->leaders[shmemi_team_other_node(t, i)], p->call);
    for (uint32_t node = 0; node < t->node; node++)
        if (node == 0)
            memcpy(before, shmemi_round_part(t, round, node), bytes);
        else
            p->reducer->combine(before, shmemi_round_part(t, round, node), p->n);
}

/* Exchanges the totals of nodes for a piece, like exchange_totals, but in steps. In the step of
 * distance d a leader has the combination of d nodes, up to its own, and sends it to the leader d
 * nodes after it. The last leaders send to the first ones, which wait for that message but do not
 * use its elements: so no leader gets two rounds ahead of another, whose memory it would overwrite.
 */
static void exchange_in_steps(const struct piece *p, char *before)
{
    struct shmemi_team *t = p->t;
    const uint32_t nodes = t->n_nodes;
    const size_t bytes = p->n * p->reducer->size, part = scan_part(t);
    /* Each step has a part of its own in both halves of the round's memory: it sends `total` from
     * the half for what a PE sends, and receives into `in` in the other half. */
    char *in = shmemi_round_received(t, t->rounds_begun), *total = in - t->round_bytes;
    t->rounds_begun++;
    shmemi_combine_members(t, t->near, t->n_near, total, p->source, p->n, p->reducer, p->call);
    for (uint32_t distance = 1; distance < nodes && shmemi_collective_unbroken(); distance *= 2) {
        int to = t->leaders[(t->node + distance) % nodes];
        int from = t->leaders[(t->node + nodes - distance) % nodes];
        char *next = total + part;
        shmemi_message_at(t, to, in - shmemi_state.peer_base[shmemi_state.my_pe], total, bytes,
                          NULL, p->call);
        shmemi_await(t, from, p->call);
        memcpy(next, t->node >= distance ? in : total, bytes);
        if (t->node >= distance) {
            p->reducer->combine(next, total, p->n);
            if (distance > 1)
                p->reducer->combine(in, before, p->n);
            memcpy(before, in, bytes);
        }
        total = next;
        in += part;
    }
}

/* Scans a piece: the first member of a node writes the combination of the elements of all earlier
 * nodes to its members, in their dest, which no PE reads any more. Each member combines it with the
 * elements of the members before it (in an inclusive scan, and its own), the earlier nodes first.
 * acc and before: memory for a piece. */
static void scan_piece(const struct piece *p, char *acc, char *before)
{
    struct shmemi_team *t = p->t;
    size_t bytes = p->n * p->reducer->size;
    uint32_t upto = t->near_rank + (p->inclusive ? 1 : 0);
    shmemi_sync_node(t, p->call);
    shmemi_combine_members(t, t->near, upto, acc, p->source, p->n, p->reducer, p->call);
    if (t->near_rank == 0 && in_steps(t))
        exchange_in_steps(p, before);
    else if (t->near_rank == 0)
        exchange_totals(p, before);
    shmemi_sync_node(t, p->call);
    if (!shmemi_collective_unbroken())
        return;
    for (uint32_t i = 1; t->near_rank == 0 && t->node > 0 && i < t->n_near; i++)
        shmemi_put(SHMEM_CTX_DEFAULT, p->dest, before, bytes, t->pes[t->near[i]], p->call);
    if (shmemi_state.gpu)
        shmemi_quiet(SHMEM_CTX_DEFAULT, p->call);
    shmemi_sync_node(t, p->call);
    if (t->node > 0 && t->near_rank > 0)
        shmemi_move(before, p->dest, bytes, p->call);
    if (t->node > 0 && upto > 0)
        p->reducer->combine(before, acc, p->n);
    if (t->node > 0)
        shmemi_move(p->dest, before, bytes, p->call);
    else if (upto > 0)
        shmemi_move(p->dest, acc, bytes, p->call);
    else
        shmemi_clear(p->dest, bytes, p->call);
}

/* Scans over several nodes, piece by piece: within each node, between the nodes, and within each
 * node again. */
static void scan_by_nodes(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                          bool inclusive, const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size, part = in_steps(t) ? scan_part(t) : shmemi_part_bytes(t);
    size_t limit = (part < SHMEMI_PIECE ? part : SHMEMI_PIECE) / size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE], before[SHMEMI_PIECE];
    for (size_t at = 0; at < nelems && shmemi_collective_unbroken(); at += limit) {
        struct piece p = {.t = t,
                          .dest = dest + at * size,
                          .source = source + at * size,
                          .n = nelems - at < limit ? nelems - at : limit,
                          .inclusive = inclusive,
                          .reducer = reducer,
                          .call = call};
        scan_piece(&p, acc, before);
    }
}

/* Implements scans of a team: checks the arguments, and chooses by the team and the size how to
 * scan: node by node, in one exchange, or in pieces. Returns 0, or -1 if the team is invalid or a
 * PE is lost. */
int shmemi_scan(shmem_team_t team, void *dest, const void *source, size_t nelems, bool inclusive,
                const struct shmemi_reducer *reducer, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL)
        return -1;
    size_t bytes = shmemi_bytes(nelems, reducer->size);
    shmemi_check_symmetric("dest", dest, bytes, call);
    shmemi_check_symmetric("source", source, bytes, call);
    shmemi_coll_check_overlap(dest, bytes, source, bytes, /* may_be_same */ true, call);
    if (!shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, source, bytes, /* what */ "", /* other */ 0, call);
    if (nelems == 0)
        return shmemi_collective_end() ? 0 : -1;
    if (shmemi_has_columns(t) && t->consecutive)
        scan_by_nodes(t, dest, source, nelems, inclusive, reducer, call);
    else if (bytes <= t->slot_size && bytes <= SHMEMI_TEAM_SLOT) /* the same choice in every team */
        scan_small(t, dest, source, nelems, inclusive, reducer, call);
    else
        scan_pieces(t, dest, source, nelems, t->me + (inclusive ? 1 : 0), reducer, call);
    return shmemi_collective_end() ? 0 : -1;
}
