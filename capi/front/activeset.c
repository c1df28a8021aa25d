/*
 * activeset.c: the collectives on active sets. A set of all PEs of the job takes the path of the
 * world team; the PEs of any other set send messages that count in words of pSync
 * (activeset_messages.h).
 */
#include "activeset.h"

#include "activeset_reduce.h"
#include "address.h"
#include "barrier.h"
#include "below.h"
#include "broadcast.h"
#include "coll.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "model.h"
#include "reduce.h"
#include "collective_arguments.h"
#include "activeset_messages.h"
#include "strided.h"
#include "team.h"

/* Begins a collective call on an active set. Returns the set's team: the world, or *set_team, which
 * it fills in; the caller then ends the call by shmemi_collective_end. Returns NULL if a PE of the
 * set is lost; then the call has failed, and has ended. */
static struct shmemi_team *begin(struct shmemi_team *set_team, int start, int log_stride, int size,
                                 long *psync, const char *call)
{
    struct shmemi_team *t = shmemi_activeset_open(set_team, start, log_stride, size, psync, call);
    return shmemi_collective_begin(t, call) ? t : NULL;
}

/* Syncs the PEs of an active set. */
void shmemi_activeset_sync(int start, int log_stride, int size, long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    shmemi_sync_members(t, call);
    shmemi_collective_end();
}

/* Performs a barrier of the PEs of an active set: completes this PE's operations, and then syncs.
 */
void shmemi_activeset_barrier(int start, int log_stride, int size, long *psync, const char *call)
{
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    shmemi_activeset_sync(start, log_stride, size, psync, call);
}

/* --------------------------------------------------------------- broadcast */

/* Sends n bytes at from, a symmetric address, to every other member on this node. It writes a few
 * bytes to each member's dest. If there are many (shmemi_coll_pulls), it sends each member a
 * message to read them, and waits until all have read them. */
static void spread_on_node(struct shmemi_team *t, void *dest, const void *from, size_t n,
                           const char *call)
{
    bool pull = shmemi_coll_pulls(n);
    for (uint32_t i = 1; i < t->n_near; i++) {
        int rank = shmemi_team_neighbour(t, i);
        if (pull)
            shmemi_activeset_message(t, rank, SHMEMI_DATA, call);
        else
            shmemi_activeset_message_data(t, rank, SHMEMI_DATA, dest, from, n, call);
    }
    if (pull)
        shmemi_activeset_await(t, SHMEMI_READ, t->n_near - 1, call);
}

/* Receives what spread_on_node sends: waits for the message of rank. If there are many bytes, the
 * message says only that they are ready: then this PE reads them at the address `from` and reports
 * that it has. */
static void receive_on_node(struct shmemi_team *t, int rank, void *dest, const void *from, size_t n,
                            const char *call)
{
    shmemi_activeset_await(t, SHMEMI_DATA, 1, call);
    if (shmemi_coll_pulls(n)) {
        shmemi_get(SHMEM_CTX_DEFAULT, dest, from, n, t->pes[rank], call);
        shmemi_activeset_message(t, rank, SHMEMI_READ, call);
    }
}

/* Returns the rank of the PE that passes the data on at a node, counted from the root's node on: on
 * that node the root, else the first member. */
static int speaker_rank(const struct shmemi_team *t, uint32_t node, int root)
{
    return node == 0 ? root : t->leaders[(shmemi_team_node(t, root) + node) % t->n_nodes];
}

/* Broadcasts in an active set that is not all PEs: in a tree of nodes whose width the cost model
 * (model.h) chooses, and on each node from one member to the others. Nodes are numbered from the
 * root's on, round robin. The children of node i are the `width` nodes from i * width + 1 on. */
static void broadcast(struct shmemi_team *t, void *dest, const void *source, size_t n, int root,
                      const char *call)
{
    shmemi_coll_check_broadcast(t, dest, source, n, root, call);
    if (n == 0)
        return;
    uint32_t node = (t->node + t->n_nodes - shmemi_team_node(t, root)) % t->n_nodes;
    uint32_t width = t->n_nodes > 1 ? shmemi_model_children(t, n) : 1;
    int speaker = speaker_rank(t, node, root);
    const void *from = node == 0 ? source : dest;
    if (t->me != speaker) {
        receive_on_node(t, speaker, dest, from, n, call);
        return;
    }
    if (node > 0)
        shmemi_activeset_await(t, SHMEMI_DATA, 1, call);
    uint64_t first = (uint64_t)node * width + 1;
    for (uint64_t child = first; child < first + width && child < t->n_nodes; child++)
        shmemi_activeset_message_data(t, speaker_rank(t, (uint32_t)child, root), SHMEMI_DATA, dest,
                                      from, n, call);
    spread_on_node(t, dest, from, n, call);
    shmemi_activeset_release(n, call);
}

/* Implements shmem_broadcast32 and 64: a broadcast to the PEs of an active set; the root's dest is
 * not written (false: to_root of shmemi_coll_broadcast). */
void shmemi_activeset_broadcast(void *dest, const void *source, size_t nbytes, int root, int start,
                                int log_stride, int size, long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world)
        shmemi_coll_broadcast(t, dest, source, nbytes, root, false, call);
    else
        broadcast(t, dest, source, nbytes, root, call);
    shmemi_collective_end();
}

/* -------------------------------------------- collect, fcollect and alltoall */

/* Sends block i of this PE's contribution to rank i, and waits for the blocks of all ranks. step is
 * the distance between blocks in source, 0 if all ranks get the same block. mine is the symmetric
 * address at which each rank receives this PE's block. The ranks are addressed from the next one
 * on, so that not all PEs write to the same one at once. */
static void all_to_all(struct shmemi_team *t, char *mine, const char *source, size_t nbytes,
                       size_t step, const char *call)
{
    for (int i = 1; i < t->n; i++) {
        int rank = (t->me + i) % t->n;
        shmemi_activeset_message_data(t, rank, SHMEMI_DATA, mine, source + step * (size_t)rank,
                                      nbytes, call);
    }
    shmemi_move(mine, source + step * (size_t)t->me, nbytes, call);
    shmemi_activeset_release(nbytes, call);
    shmemi_activeset_await(t, SHMEMI_DATA, (uint64_t)t->n - 1, call);
}

/* Returns the offset of this PE's bytes in the result of collect: the sum of the bytes of the
 * members before it, a prefix sum by recursive doubling. After the step of distance d a PE has the
 * sum of the 2d members up to itself. Each step has a word of pSync of its own. */
static size_t offset_of_block(struct shmemi_team *t, size_t nbytes, const char *call)
{
    uint64_t upto = nbytes;
    int round = SHMEMI_ROUND;
    for (int distance = 1; distance < t->n; distance *= 2, round++) {
        if (t->me + distance < t->n)
            shmemi_activeset_send_number(t, t->me + distance, round, upto, call);
        if (t->me >= distance)
            upto += shmemi_activeset_receive_number(t, round, call);
    }
    return upto - nbytes;
}

/* Performs collect in a set that is not the world: a prefix sum of the sizes determines where the
 * bytes of each member begin in dest. */
static void collect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                    const char *call)
{
    shmemi_check_symmetric("source", source, nbytes, call);
    char *mine = (char *)dest + offset_of_block(t, nbytes, call);
    if (!shmemi_collective_unbroken())
        return; /* a PE is lost, so mine is not valid */
    shmemi_check_symmetric("dest", mine, nbytes, call);
    shmemi_coll_check_overlap(mine, nbytes, source, nbytes, /* may_be_same */ false, call);
    all_to_all(t, mine, source, nbytes, /* step */ 0, call);
}

/* Implements shmem_collect32 and shmem_collect64: each PE of the active set contributes a block of
 * nbytes, which may differ, and all PEs get the blocks one after the other. */
void shmemi_activeset_collect(void *dest, const void *source, size_t nbytes, int start,
                              int log_stride, int size, long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world)
        shmemi_coll_collect(t, dest, source, nbytes, call);
    else
        collect(t, dest, source, nbytes, call);
    shmemi_collective_end();
}

/* Performs fcollect and alltoall in a set that is not the world: checks the arrays, then sends a
 * block of source to every member. step is the distance from the block of one member to that of the
 * next in source, 0 if all members get the same block. */
static void send_blocks(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                        size_t step, const char *call)
{
    size_t all = shmemi_bytes(nbytes, (size_t)t->n), source_bytes = step == 0 ? nbytes : all;
    shmemi_check_symmetric("dest", dest, all, call);
    shmemi_check_symmetric("source", source, source_bytes, call);
    shmemi_coll_check_overlap(dest, all, source, source_bytes, /* may_be_same */ false, call);
    if (nbytes > 0)
        all_to_all(t, (char *)dest + nbytes * (size_t)t->me, source, nbytes, step, call);
}

/* Implements shmem_fcollect32 and shmem_fcollect64: each PE of the active set contributes a block
 * of nbytes, the same on all, and all PEs get the blocks one after the other. */
void shmemi_activeset_fcollect(void *dest, const void *source, size_t nbytes, int start,
                               int log_stride, int size, long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world)
        shmemi_coll_fcollect(t, dest, source, nbytes, call);
    else
        send_blocks(t, dest, source, nbytes, /* step */ 0, call);
    shmemi_collective_end();
}

/* Implements shmem_alltoall32 and shmem_alltoall64: each PE of the active set sends each other one
 * a block of nbytes. */
void shmemi_activeset_alltoall(void *dest, const void *source, size_t nbytes, int start,
                               int log_stride, int size, long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world)
        shmemi_coll_alltoall(t, dest, source, nbytes, call);
    else
        send_blocks(t, dest, source, nbytes, nbytes, call);
    shmemi_collective_end();
}

/* Performs alltoalls in a set that is not the world: writes its strided elements to every member,
 * and then sends the member a message, which a fence keeps from overtaking the elements. dst and
 * sst are the strides of dest and source, in elements of `width` bytes. */
static void alltoalls(struct shmemi_team *t, void *dest, const void *source, ptrdiff_t dst,
                      ptrdiff_t sst, size_t nelems, size_t width, const char *call)
{
    shmemi_coll_check_alltoalls(t, dest, source, dst, sst, nelems, width, call);
    if (nelems == 0)
        return;
    char *mine = (char *)dest + nelems * (size_t)t->me * (size_t)dst * width;
    for (int i = 0; i < t->n; i++) {
        int rank = (t->me + i) % t->n;
        const char *from = (const char *)source + nelems * (size_t)rank * (size_t)sst * width;
        shmemi_iput(SHMEM_CTX_DEFAULT, mine, from, dst, sst, /* bsize */ 1, nelems, width,
                    t->pes[rank], call);
        if (i == 0)
            continue; /* this PE itself, which needs no message */
        shmemi_fence(SHMEM_CTX_DEFAULT, call);
        shmemi_activeset_message(t, rank, SHMEMI_DATA, call);
    }
    shmemi_activeset_await(t, SHMEMI_DATA, (uint64_t)t->n - 1, call);
}

/* Implements shmem_alltoalls32 and 64 on an active set. */
void shmemi_activeset_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                size_t nelems, size_t width, int start, int log_stride, int size,
                                long *psync, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world)
        shmemi_coll_alltoalls(t, dest, source, dst, sst, nelems, width, call);
    else
        alltoalls(t, dest, source, dst, sst, nelems, width, call);
    shmemi_collective_end();
}

/* -------------------------------------------------------------- reductions */

/* Implements shmem_<type>_<op>_to_all, the reductions on an active set, for the type and operation
 * of `reducer`. */
void shmemi_activeset_reduce(void *dest, const void *source, int nreduce, int start, int log_stride,
                             int size, void *pwrk, long *psync,
                             const struct shmemi_reducer *reducer, const char *call)
{
    struct shmemi_team set_team;
    struct shmemi_team *t = begin(&set_team, start, log_stride, size, psync, call);
    if (t == NULL)
        return;
    if (nreduce < 0)
        shmemi_abort(call, "use 0 or more", "nreduce is %d", nreduce);
    size_t nelems = (size_t)nreduce;
    if (t == &shmemi_world)
        shmemi_coll_reduce(t, dest, source, nelems, reducer, call);
    else
        shmemi_activeset_reduce_members(t, dest, source, nelems, pwrk, reducer, call);
    shmemi_collective_end();
}
