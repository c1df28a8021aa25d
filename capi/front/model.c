/*
 * model.c: which algorithm a collective call uses between nodes.
 *
 * The modelled time of a message is its latency, a fixed time at its sender, and a time for each
 * byte at both sides. What the members of a node do among themselves takes far less, and is left
 * out.
 */
#include "model.h"

#include "zz_message.h"

/* The sizes of pieces from which a broadcast chooses: with larger pieces nodes wait longer for the
 * first one, and smaller ones cost more messages. */
static const size_t pieces[] = {(size_t)256 << 10, (size_t)64 << 10};

/* How many nodes one node sends to in a tree, at most. */
enum { WIDEST = 8 };

/* With fewer nodes a reduction in halves gains nothing over one with owners (each node combines one
 * block of the elements, and sends the result to all), which takes two steps. */
enum { FEWEST_HALVED = 8 };

/* Up to this many bytes the blocks of a node may be sent in one message: to copy them twice on the
 * node takes less time than separate messages. */
#define PACK_BYTES ((size_t)16 << 10)

/* Up to this many bytes nodes of one PE each may collect blocks in steps. With more, messages to
 * several nodes overlap: 256 KiB of each of 4 PEs took 241 us over tcp, and 288 in steps. */
#define DOUBLE_BYTES ((size_t)64 << 10)

/* What a message costs the PEs of a node beside its sender, in nanoseconds: they share the NIC or
 * the kernel. With 8 PEs on each of two hosts over tcp, blocks of 256 bytes took 22.6 us in one
 * message and 29.8 in one for each PE; with 2 PEs on each 12.2 and 12.4, and blocks of 1 KiB 17.6
 * and 12.3. */
enum { SHARED_NS = 200 };

/* How many bytes a PE combines or copies in a nanosecond: some 10 GB/s. */
enum { COMBINED_PER_NS = 10 };

/* What it costs to copy a block by itself, beside its bytes, in nanoseconds. */
enum { COPY_NS = 10 };

/* Reports whether SHMEM_COLLECTIVES, a setting for tests and measurements, selects one of these
 * algorithms. */
static bool is_selected(uint32_t which)
{
    return (shmemi_state.collectives & which) != 0;
}

/* Returns how many messages of the engine `bytes` bytes take. Data that does not fit in a message
 * takes a write, and a message that is sent right after it. */
static double message_count(double bytes)
{
    return bytes > SHMEMI_MESSAGE_SIZE - SHMEMI_HEADER_SIZE ? 2 : 1;
}

/* Returns the modelled time from the send of a message to its arrival, in nanoseconds. */
static double latency(void)
{
    return shmemi_state.wire_latency;
}

/* Returns the modelled time that one node takes to send n messages of `bytes` bytes each, in
 * nanoseconds. */
static double time_to_send(double n, double bytes)
{
    const struct shmemi_state *s = &shmemi_state;
    return n * (message_count(bytes) * s->wire_post + bytes * s->wire_kib / 1024.0);
}

/* Returns the modelled time in which each of n nodes sends `bytes` bytes to each of the others, in
 * nanoseconds. */
static double time_direct(uint32_t n, double bytes)
{
    return latency() + time_to_send(n - 1.0, bytes);
}

/* Returns the modelled time in which each node sends `bytes` bytes to each of the others in rounds
 * that have `part` bytes for each. Four rounds may be under way, and the second one behind a round
 * waits for it, so two rounds take one latency. */
static double time_in_rounds(const struct shmemi_team *t, double bytes, size_t part)
{
    double rounds = bytes > (double)part ? bytes / (double)part : 1;
    return latency() * (1 + (rounds - 1) / 2) +
           rounds * time_to_send(t->n_nodes - 1.0, bytes / rounds);
}

/* Returns the modelled time that a PE takes to combine `bytes` bytes of each node, and to copy as
 * many once before and once after; in nanoseconds. */
static double time_to_combine(const struct shmemi_team *t, double bytes)
{
    return (t->n_nodes + 2) * bytes / COMBINED_PER_NS;
}

/* Returns the modelled time in which the nodes beyond the largest power of two send their elements
 * to a node that takes part in the steps, and get the result; in nanoseconds. 0 if there are no
 * such nodes. */
static double time_to_fold(const struct shmemi_team *t, double bytes)
{
    return shmemi_in_pairs(t->n_nodes)
               ? 0
               : 2 * (latency() + time_to_send(1, bytes)) + bytes / COMBINED_PER_NS;
}

/* Returns the modelled time of a reduction in pairs, in rounds of up to `limit` bytes; in
 * nanoseconds. In each step a node sends, copies and combines all elements of the round. */
static double in_pairs(const struct shmemi_team *t, size_t bytes, size_t limit)
{
    double rounds = (double)((bytes + limit - 1) / limit), each = (double)bytes / rounds;
    double time = time_to_fold(t, each);
    for (uint32_t nodes = t->n_nodes; nodes > 1; nodes /= 2)
        time += latency() + time_to_send(1, each) + 2 * each / COMBINED_PER_NS;
    return rounds * time;
}

/* Returns the modelled time of a reduction in halves: the elements are sent out and back, and each
 * node combines and copies them twice. */
static double in_halves(const struct shmemi_team *t, size_t bytes, size_t limit)
{
    double rounds = (double)((bytes + limit - 1) / limit), each = (double)bytes / rounds;
    double time = time_to_fold(t, each) + 4 * each / COMBINED_PER_NS, half = each;
    for (uint32_t nodes = t->n_nodes; nodes > 1; nodes /= 2) {
        half /= 2;
        time += 2 * (latency() + time_to_send(1, half));
    }
    return rounds * time;
}

/* Returns the modelled time of a reducescatter in halves: a node sends half of all blocks first.
 * Data that does not fit a message of the engine takes as long again, as in all-to-alls. */
static double scatter_in_halves(const struct shmemi_team *t, double bytes, double rounds)
{
    double all = t->n_nodes * bytes / rounds, half = all;
    double time = time_to_fold(t, all) + 2 * all / COMBINED_PER_NS;
    for (uint32_t nodes = t->n_nodes; nodes > 1; nodes /= 2) {
        half /= 2;
        time += message_count(half) * latency() + time_to_send(1, half);
    }
    return rounds * time;
}

/* Compares with a message to each node, for the contribution to its block, and one back. */
bool shmemi_model_scatters_in_halves(const struct shmemi_team *t, size_t bytes, size_t size)
{
    const size_t limit = shmemi_scatter_limit(t) / size * size, part = shmemi_part_bytes(t);
    if (limit == 0 || t->n_nodes < 3)
        return false;
    if (is_selected(SHMEMI_COLLECTIVES_STEPS) || part < SHMEMI_LEAST_PART)
        return true;
    if (is_selected(SHMEMI_COLLECTIVES_OWNERS | SHMEMI_COLLECTIVES_STRAIGHT))
        return false;
    double rounds = bytes > limit ? (double)((bytes + limit - 1) / limit) : 1;
    return scatter_in_halves(t, (double)bytes, rounds) < time_in_rounds(t, (double)bytes, part) +
                                                             time_direct(t->n_nodes, 0) +
                                                             time_to_combine(t, (double)bytes);
}

/* Returns the algorithm of a reduction that the setting SHMEM_COLLECTIVES selects; SHMEMI_STRAIGHT
 * if it selects none of the others. */
static enum shmemi_reduction selected_reduction(void)
{
    static const struct {
        uint32_t word;
        enum shmemi_reduction how;
    } words[] = {{SHMEMI_COLLECTIVES_PAIRS, SHMEMI_PAIRS},
                 {SHMEMI_COLLECTIVES_HALVES, SHMEMI_HALVES},
                 {SHMEMI_COLLECTIVES_OWNERS, SHMEMI_OWNERS}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_selected(words[i].word))
            return words[i].how;
    return SHMEMI_STRAIGHT;
}

/* The words of SHMEM_COLLECTIVES that select how a column reduces. */
enum {
    WORDS_OF_STEPS = SHMEMI_COLLECTIVES_PAIRS | SHMEMI_COLLECTIVES_HALVES,
    WORDS_OF_ROUNDS = SHMEMI_COLLECTIVES_STRAIGHT | SHMEMI_COLLECTIVES_OWNERS | WORDS_OF_STEPS
};

/* Returns the algorithm with the smallest modelled time for a reduction of `bytes` bytes in rounds,
 * among those that are possible, and stores that time. */
static enum shmemi_reduction fastest(const struct shmemi_team *t, size_t bytes, double *time)
{
    const uint32_t nodes = t->n_nodes;
    const double all = (double)bytes, block = all / nodes;
    const size_t part = shmemi_part_bytes(t);
    const bool parts = part >= SHMEMI_LEAST_PART; /* a round has one for each node */
    const struct {
        enum shmemi_reduction how;
        bool possible;
        double time;
    } algorithms[] = {
        {SHMEMI_STRAIGHT, parts, time_in_rounds(t, all, part) + time_to_combine(t, all)},
        {SHMEMI_OWNERS, parts, 2 * time_in_rounds(t, block, part) + time_to_combine(t, block)},
        {SHMEMI_PAIRS, nodes > 2, in_pairs(t, bytes, shmemi_pairs_limit(t))},
        {SHMEMI_HALVES, nodes >= FEWEST_HALVED, in_halves(t, bytes, shmemi_halves_limit(t))},
    };
    enum shmemi_reduction best = SHMEMI_PAIRS;
    *time = -1;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (algorithms[i].possible && (*time < 0 || algorithms[i].time < *time)) {
            best = algorithms[i].how;
            *time = algorithms[i].time;
        }
    return best;
}

/* Returns the algorithm with the smallest modelled time, unless SHMEM_COLLECTIVES selects one. */
enum shmemi_reduction shmemi_model_reduction(const struct shmemi_team *t, size_t bytes)
{
    double time;
    const bool parts = shmemi_part_bytes(t) >= SHMEMI_LEAST_PART;
    if (is_selected(WORDS_OF_ROUNDS) && (parts || is_selected(WORDS_OF_STEPS)))
        return selected_reduction();
    return fastest(t, bytes, &time);
}

/* Compares with rounds the two steps in dest, in which a PE exchanges blocks with all of its column
 * and combines its own. The world is left out: its rounds are large, and overlap. */
bool shmemi_model_in_dest(const struct shmemi_team *t, size_t bytes)
{
    const double share = (double)bytes / t->columns, block = share / t->n_nodes;
    double in_rounds;
    if (is_selected(SHMEMI_COLLECTIVES_DEST) || t->rounds == NULL)
        return true;
    if (is_selected(WORDS_OF_ROUNDS) || t == &shmemi_world)
        return false;
    fastest(t, (size_t)share, &in_rounds);
    return 2 * time_direct(t->n_nodes, block) + time_to_combine(t, block) < in_rounds;
}

/* Reports whether combining in pairs takes less modelled time than sending to all. If n is a power
 * of two, each step of the pairs is one message each way; otherwise the PEs beyond the largest
 * power of two cost two more steps. */
bool shmemi_model_pairs(uint32_t n, size_t bytes)
{
    uint32_t steps = shmemi_steps_in_pairs(n) + (shmemi_in_pairs(n) ? 0 : 2);
    return steps * (latency() + time_to_send(1, (double)bytes)) < time_direct(n, (double)bytes);
}

/* Returns the modelled time of a broadcast in a tree, in nanoseconds: the last node gets the first
 * piece over the whole depth of the tree, and the other pieces right after it. Sender and receiver
 * of a piece work at the same time; a node in the middle of the tree receives and sends. */
static double time_of(const struct shmemi_team *t, struct shmemi_tree tree, size_t nbytes)
{
    uint32_t others = t->n_nodes - 1, depth = 0;
    uint32_t children = tree.children < others ? tree.children : others;
    size_t n = (nbytes + tree.piece - 1) / tree.piece;
    double piece = n > 1 ? (double)tree.piece : (double)nbytes, each = time_to_send(1, piece) / 100,
           send = children * each * shmemi_state.wire_send,
           receive = each * shmemi_state.wire_receive, longer = send > receive ? send : receive;
    for (uint64_t reached = 0, level = 1; reached < others; depth++) {
        level *= children;
        reached += level;
    }
    return depth * (latency() + longer) + (double)(n - 1) * (depth > 1 ? send + receive : longer);
}

/* Returns the tree with the least modelled time, unless SHMEM_COLLECTIVES selects one. */
struct shmemi_tree shmemi_model_tree(const struct shmemi_team *t, size_t nbytes)
{
    const size_t sizes = sizeof pieces / sizeof *pieces;
    struct shmemi_tree best = {WIDEST, pieces[0]};
    uint32_t widest = is_selected(SHMEMI_COLLECTIVES_CHAIN) ? 1 : WIDEST;
    double least = -1;
    if (is_selected(SHMEMI_COLLECTIVES_WIDE))
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

/* Returns the width with the least modelled time, unless SHMEM_COLLECTIVES selects one. */
uint32_t shmemi_model_children(const struct shmemi_team *t, size_t nbytes)
{
    uint32_t best = WIDEST;
    if (shmemi_state.collectives & SHMEMI_COLLECTIVES_FLAT)
        return t->n_nodes;
    if (is_selected(SHMEMI_COLLECTIVES_CHAIN))
        return 1;
    if (is_selected(SHMEMI_COLLECTIVES_WIDE))
        return best;
    for (uint32_t width = WIDEST / 2; width >= 1; width /= 2)
        if (time_of(t, (struct shmemi_tree){width, nbytes}, nbytes) <
            time_of(t, (struct shmemi_tree){best, nbytes}, nbytes))
            best = width;
    return best;
}

/* Returns the modelled time in which the first PEs of nodes (leaders) exchange their bytes in steps
 * that double what a leader has; in nanoseconds. If the number of nodes is not a power of two,
 * those bytes are in two parts in half of the steps. */
static double time_of_doubling(const struct shmemi_team *t, double bytes)
{
    double time = 0, parts = shmemi_in_pairs(t->n_nodes) ? 1 : 1.5;
    for (uint32_t nodes = 1; nodes < t->n_nodes; nodes *= 2) {
        uint32_t n = t->n_nodes - nodes < nodes ? t->n_nodes - nodes : nodes;
        time += latency() + time_to_send(parts, bytes * n / parts);
    }
    return time;
}

/* Reports whether an exchange in steps takes less modelled time than sending to all. */
bool shmemi_model_doubles(const struct shmemi_team *t, size_t bytes)
{
    return time_of_doubling(t, (double)bytes) < time_direct(t->n_nodes, (double)bytes);
}

/* Compares with a message of each member to each other node, which the members send at the same
 * time. If each node has one PE, the exchange has to be in steps to be another one. */
bool shmemi_model_packs(const struct shmemi_team *t, size_t bytes)
{
    const double all = (double)bytes, members = (double)t->n / t->n_nodes;
    const bool alone = t->n == (int)t->n_nodes;
    if (is_selected(SHMEMI_COLLECTIVES_PACKED | SHMEMI_COLLECTIVES_APART))
        return is_selected(SHMEMI_COLLECTIVES_PACKED);
    if (bytes > (alone ? DOUBLE_BYTES : PACK_BYTES))
        return false;
    double apart =
        time_direct(t->n_nodes, all / members) + SHARED_NS * (members - 1) * (t->n_nodes - 1.0);
    if (time_of_doubling(t, all) < apart)
        return true;
    return !alone && !shmemi_in_pairs(t->n_nodes) && time_direct(t->n_nodes, all) <= apart;
}

/* Compares the messages that are saved with the copy of each block from the memory of a round to
 * the member that it is for. */
bool shmemi_model_swaps_packed(const struct shmemi_team *t, size_t nbytes)
{
    const double others = t->n_nodes - 1.0, members = t->columns, each = (double)nbytes;
    if (is_selected(SHMEMI_COLLECTIVES_PACKED | SHMEMI_COLLECTIVES_APART))
        return is_selected(SHMEMI_COLLECTIVES_PACKED);
    if (nbytes * t->columns <= PACK_BYTES)
        return true;
    return time_to_send(others, members * each) + others * members * each / COMBINED_PER_NS <
           time_to_send(others * members, each);
}

/* Compares with a message to each node. In steps each block is copied before it is sent. Blocks
 * that do not fit a message of the engine take as long again: on EFA the message behind a write
 * waits for it, and a step of 300 hosts took 16 us with 9,600 bytes, and 9 with 1,200
 * (TestSimSwaps). */
bool shmemi_model_swaps_in_steps(const struct shmemi_team *t, size_t bytes)
{
    double time = 0;
    if (is_selected(SHMEMI_COLLECTIVES_STEPS | SHMEMI_COLLECTIVES_PACKED |
                    SHMEMI_COLLECTIVES_APART))
        return is_selected(SHMEMI_COLLECTIVES_STEPS);
    for (uint32_t i = 0; 1u << i < t->n_nodes; i++) {
        double blocks = shmemi_blocks_of_step(t->n_nodes, i), all = blocks * (double)bytes;
        time += message_count(all) * latency() + time_to_send(1, all) + blocks * COPY_NS +
                all / COMBINED_PER_NS;
    }
    return time < time_direct(t->n_nodes, (double)bytes);
}

/* Reports whether the setting says `apart`. */
bool shmemi_model_apart(void)
{
    return is_selected(SHMEMI_COLLECTIVES_APART);
}
