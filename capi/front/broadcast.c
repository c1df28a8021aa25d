/*
 * broadcast.c: broadcasts of a team.
 *
 * On a node the root writes to the other members, or they read from it. Between nodes one member of
 * each node, on the root's node the root itself, passes the data on in a tree whose width and
 * pieces the model chooses (model.h), and passes each piece on to the members of its node when it
 * arrives.
 */
#include "broadcast.h"

#include "address.h"
#include "collective_arguments.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "message.h"
#include "model.h"
#include "team_ids.h"

/* Below this size a root writes to each PE of its node; from this size on the PEs read from it,
 * side by side with each other and with the root, which copies to its own dest meanwhile. With two
 * PEs reading is faster, too: 41 us for 1 MiB, where writing takes 111 (two cores, the least of
 * five runs; docs/decisions/0006). */
#define PULL_BYTES ((size_t)32 << 10)

/* Reports whether the members of a node read the n bytes of a broadcast themselves. */
bool shmemi_coll_pulls(size_t n)
{
    return n >= PULL_BYTES;
}

/* A broadcast as one PE sees it. */
struct broadcast {
    struct shmemi_team *t;
    char *dest;
    const char *data;     /* what this PE passes on: source on the root, or dest */
    size_t nbytes, piece; /* bytes of the data, and of each message except the last */
    uint32_t children;    /* how many nodes one node sends to, at most */
    uint32_t root_node;   /* the root's node, by its index in the team */
    uint32_t node;        /* this PE's node, counted from the root's node on: that one is 0 */
    int root;
    bool pull; /* members read from the member of their node that passes the data on */
    struct shmemi_lent *lent;
    const char *call;
};

/* Returns `number` modulo n, for a number below 2n, without a division. Three divisions
 * made a broadcast of 8 bytes on a node a tenth slower: .37 us instead of .33 (2 PEs of a 16-core
 * Xeon). */
static uint32_t below_n(uint32_t number, uint32_t n)
{
    return number < n ? number : number - n;
}

/* Returns the rank of the speaker of a node: the member that passes the data on, to other nodes and
 * to the members of its node. It is the root on the root's node, which has number 0, else the first
 * member. */
static int speaker_rank(const struct broadcast *b, uint32_t node)
{
    return node == 0 ? b->root : b->t->leaders[below_n(b->root_node + node, b->t->n_nodes)];
}

/* Returns the bytes of the piece that begins at `at`. */
static size_t piece_at(const struct broadcast *b, size_t at)
{
    return b->nbytes - at < b->piece ? b->nbytes - at : b->piece;
}

/* Sends the piece at the offset `at` to one member (the speaker) of each of this node's children in
 * the tree of nodes. The children of node i are the nodes i * children + 1 and following. */
static void send_on(const struct broadcast *b, size_t at)
{
    uint64_t first = (uint64_t)b->node * b->children + 1;
    for (uint64_t node = first; node < first + b->children && node < b->t->n_nodes; node++)
        shmemi_message_data(b->t, speaker_rank(b, (uint32_t)node), b->dest + at, b->data + at,
                            piece_at(b, at), b->lent, b->call);
}

/* Passes the piece at the offset `at` to the other members of this node: writes it to them, or, if
 * they read (pull), sends each a message that it is ready. */
static void pass_to_node(const struct broadcast *b, size_t at)
{
    struct shmemi_team *t = b->t;
    for (uint32_t i = 1; i < t->n_near; i++)
        if (b->pull)
            shmemi_message(t, shmemi_team_neighbour(t, i), b->call);
        else
            shmemi_message_data(t, shmemi_team_neighbour(t, i), b->dest + at, b->data + at,
                                piece_at(b, at), b->lent, b->call);
}

/* Called by the speaker of a node, the member that passes the data on: sends each piece to the
 * speakers of other nodes and to the members of its own as soon as it arrives. At the end it waits
 * until no member reads from it. */
static void pass_on(const struct broadcast *b)
{
    struct shmemi_team *t = b->t;
    for (size_t at = 0; at < b->nbytes; at += b->piece) {
        if (b->node > 0)
            shmemi_await(t, speaker_rank(b, (b->node - 1) / b->children), b->call);
        send_on(b, at);
        pass_to_node(b, at);
    }
    for (uint32_t i = 1; b->pull && i < t->n_near; i++)
        shmemi_await(t, shmemi_team_neighbour(t, i), b->call);
    shmemi_lent_back(b->lent, b->call);
}

/* Called by each member of a node that is not its speaker: waits for each piece from the speaker,
 * and, if the members read (pull), reads it there at the same symmetric address: in source at the
 * root, else in dest. */
static void receive_pieces(const struct broadcast *b, const char *source)
{
    int from = speaker_rank(b, b->node);
    const char *data = b->node == 0 ? source : b->dest;
    for (size_t at = 0; at < b->nbytes; at += b->piece) {
        shmemi_await(b->t, from, b->call);
        if (b->pull)
            shmemi_get(SHMEM_CTX_DEFAULT, b->dest + at, data + at, piece_at(b, at), b->t->pes[from],
                       b->call);
    }
    if (b->pull)
        shmemi_message(b->t, from, b->call);
}

/* Ends the job if the root does not exist or an array is not symmetric; under SHMEM_CHECKS=full
 * also if the arrays overlap. */
void shmemi_coll_check_broadcast(const struct shmemi_team *t, const void *dest, const void *source,
                                 size_t nbytes, int root, const char *call)
{
    shmemi_check_symmetric("dest", dest, nbytes, call);
    shmemi_check_symmetric("source", source, nbytes, call);
    shmemi_coll_check_overlap(dest, nbytes, source, nbytes, true, call);
    if (root < 0 || root >= t->n)
        shmemi_abort(call, "use 0 to the number of PEs of the team - 1",
                     "root PE %d does not exist, there are %d", root, t->n);
}

/* Broadcasts in a team: checks the arguments, chooses the tree of nodes, and sends and receives
 * this PE's part in it. to_root: the root's dest gets the data, too. */
void shmemi_coll_broadcast(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                           int root, bool to_root, const char *call)
{
    shmemi_coll_check_broadcast(t, dest, source, nbytes, root, call);
    if (nbytes == 0)
        return;
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    struct broadcast b = {.t = t,
                          .dest = dest,
                          .data = t->me == root ? source : dest,
                          .nbytes = nbytes,
                          .piece = nbytes,
                          .children = t->n_nodes,
                          .root_node = shmemi_team_node(t, root),
                          .root = root,
                          .pull = shmemi_coll_pulls(nbytes),
                          .lent = &lent,
                          .call = call};
    b.node = below_n(t->node + t->n_nodes - b.root_node, t->n_nodes);
    if (shmemi_by_nodes(t)) {
        struct shmemi_tree tree = shmemi_model_tree(t, nbytes);
        b.children = tree.children;
        if (b.pull) /* else the members of a node would get each piece separately */
            b.piece = tree.piece;
    }
    if (t->me == speaker_rank(&b, b.node))
        pass_on(&b);
    else
        receive_pieces(&b, source);
    if (t->me == root && to_root && dest != source)
        shmemi_move(dest, source, nbytes, call);
}

/* Implements shmem_broadcast of a team, with checks. */
int shmemi_broadcast(shmem_team_t team, void *dest, const void *source, size_t nbytes, int root,
                     const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, source, nbytes, "the root", root, call);
    shmemi_coll_broadcast(t, dest, source, nbytes, root, true, call);
    return shmemi_collective_end() ? 0 : -1;
}
