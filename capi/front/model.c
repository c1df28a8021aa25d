/*
 * model.c: which algorithm a collective call uses between nodes.
 *
 * A message takes its latency, a sender so long for each one, and both so long for each byte. What
 * the members of a node do for each other takes far less, and is left out.
 */
#include "model.h"

#include "zz_message.h"

/* The pieces of a broadcast that may be in several: larger ones keep nodes waiting for the first
 * piece, smaller ones cost more messages. */
static const size_t pieces[] = {(size_t)256 << 10, (size_t)64 << 10};

/* The most nodes that a node sends to. */
enum { WIDEST = 8 };

/* Up to so many bytes of a node go together: copying them twice on the node takes less than
 * messages of their own. */
#define PACK_BYTES ((size_t)16 << 10)

static bool forced(uint32_t which)
{
    return (shmemi_state.collectives & which) != 0;
}

/* Data that do not fit a message are a write, and a message that leaves right behind it. */
static double messages(double bytes)
{
    return bytes > SHMEMI_MESSAGE_SIZE - SHMEMI_HEADER_SIZE ? 2 : 1;
}

/* Nanoseconds until a message has come. */
static double latency(void)
{
    return shmemi_state.wire_latency;
}

/* Nanoseconds of n messages that one node sends. */
static double sending(double n, double bytes)
{
    const struct shmemi_state *s = &shmemi_state;
    return n * (messages(bytes) * s->wire_post + bytes * s->wire_kib / 1024.0);
}

/* Nanoseconds of a PE that combines so many bytes of each node, which it copies once before and
 * once behind: some 10 GB/s. */
static double combining(const struct shmemi_team *t, double bytes)
{
    return (t->n_nodes + 2) * bytes / 10;
}

enum shmemi_reduction shmemi_model_reduction(const struct shmemi_team *t, size_t bytes, size_t part)
{
    const uint32_t nodes = t->n_nodes;
    const double others = nodes - 1.0, all = (double)bytes, block = all / nodes;
    const bool pairs = nodes > 2 && shmemi_in_pairs(nodes) && bytes <= part;
    const double straight = latency() + sending(others, all) + combining(t, all);
    const double owners = 2 * (latency() + sending(others, block)) + combining(t, block);
    const double step = latency() + sending(1, all) + 2 * all / 10;
    if (forced(SHMEMI_COLLECTIVES_PAIRS) && pairs)
        return SHMEMI_PAIRS;
    if (forced(SHMEMI_COLLECTIVES_STRAIGHT | SHMEMI_COLLECTIVES_OWNERS))
        return forced(SHMEMI_COLLECTIVES_OWNERS) ? SHMEMI_OWNERS : SHMEMI_STRAIGHT;
    if (pairs && __builtin_ctz(nodes) * step < (straight < owners ? straight : owners))
        return SHMEMI_PAIRS;
    return straight <= owners ? SHMEMI_STRAIGHT : SHMEMI_OWNERS;
}

/* With a power of two each step takes a message each way; else two more take the others in. */
bool shmemi_model_pairs(uint32_t n, size_t bytes)
{
    uint32_t steps = 0, power = 1;
    for (; power <= n / 2; power *= 2)
        steps++;
    steps += power < n ? 2 : 0;
    return steps * (latency() + sending(1, (double)bytes)) <
           latency() + sending(n - 1.0, (double)bytes);
}

/* The last node gets the first piece over the whole depth of the tree, and the others behind it. */
static double time_of(const struct shmemi_team *t, struct shmemi_tree tree, size_t nbytes)
{
    uint32_t others = t->n_nodes - 1, depth = 0;
    uint32_t children = tree.children < others ? tree.children : others;
    size_t n = (nbytes + tree.piece - 1) / tree.piece;
    double piece = n > 1 ? (double)tree.piece : (double)nbytes, each = sending(children, piece);
    for (uint64_t reached = 0, level = 1; reached < others; depth++) {
        level *= children;
        reached += level;
    }
    return depth * (latency() + each) + (double)(n - 1) * each;
}

struct shmemi_tree shmemi_model_tree(const struct shmemi_team *t, size_t nbytes)
{
    const size_t sizes = sizeof pieces / sizeof *pieces;
    struct shmemi_tree best = {WIDEST, pieces[0]};
    uint32_t widest = forced(SHMEMI_COLLECTIVES_CHAIN) ? 1 : WIDEST;
    double least = -1;
    if (forced(SHMEMI_COLLECTIVES_WIDE))
        return best;
    for (uint32_t width = widest; width >= 1; width /= 2)
        for (size_t p = 0; p < sizes && (p == 0 || nbytes > pieces[p]); p++) {
            struct shmemi_tree tree = {width, pieces[p]};
            double time = time_of(t, tree, nbytes);
            if (least < 0 || time < least) {
                least = time;
                best = tree;
            }
        }
    return best;
}

bool shmemi_model_packs(const struct shmemi_team *t, size_t bytes)
{
    if (forced(SHMEMI_COLLECTIVES_PACKED | SHMEMI_COLLECTIVES_APART))
        return forced(SHMEMI_COLLECTIVES_PACKED);
    if (bytes > PACK_BYTES || t->n > (int)t->n_nodes)
        return bytes <= PACK_BYTES;
    double apart = latency() + sending(t->n_nodes - 1.0, (double)bytes), packed = 0;
    for (uint32_t nodes = 1; nodes < t->n_nodes; nodes *= 2)
        packed += latency() + sending(1, (double)bytes * nodes);
    return shmemi_in_pairs(t->n_nodes) && packed < apart;
}
