/*
 * coll.c: fcollect, collect and alltoall of a team.
 *
 * By the specification the caller makes sure that dest is ready on every PE before any PE enters,
 * so blocks need no copy on the way: a PE writes each block straight into dest of the PE that gets
 * it, and then a message, which says that the block is there (message.h). A PE returns when it has
 * the messages of all others. Small blocks on one node go in steps, in each of which the PEs of a
 * group exchange the blocks that they have (lines.h). On several nodes a block crosses the network
 * once for each node (nodes.h).
 */
#include "coll.h"

#include "address.h"
#include "alltoall_steps.h"
#include "below.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "lines.h"
#include "message.h"
#include "nodes.h"
#include "small_blocks.h"
#include "collective_arguments.h"
#include "team_ids.h"
#include "strided.h"
#include "team.h"

/*
 * Up to this size of dest fcollect and collect exchange blocks in steps of cache lines (lines.h).
 * Above it each PE writes its block to every other. fcollect took, in us, in steps and by writes
 * (16 processors):
 *
 *     bytes of a block    16 PEs           8 PEs
 *                         steps  writes    steps  writes
 *                    8       .8     4.0       .7     2.3
 *                  512      1.8     3.4      1.5     1.9
 *                 4096                       5.1     1.7
 */
#define STEPS_BYTES ((size_t)8 << 10)

/* ---------------------------------------------------- fcollect and alltoall */

/* Sends block i of this PE's contribution to rank i, and waits for the blocks of all ranks. step is
 * the distance between blocks in source, 0 if all ranks get the same block. mine is the symmetric
 * address at which each rank receives this PE's block. */
static void all_to_all(struct shmemi_team *t, char *mine, const char *source, size_t nbytes,
                       size_t step, const char *call)
{
    int n = t->n, me = t->me;
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    for (int i = 1; i < n; i++) {
        int rank = (me + i) % n;
        shmemi_message_data(t, rank, mine, source + step * (size_t)rank, nbytes, &lent, call);
    }
    shmemi_move(mine, source + step * (size_t)me, nbytes, call);
    shmemi_lent_back(&lent, call);
    for (int i = 1; i < n; i++)
        shmemi_await(t, (me + n - i) % n, call);
}

/* Reports whether the team's data can go in steps of cache lines (lines.h): every member can store
 * to the memory of every other, and the team has such lines. An active set has none. */
static bool has_steps(const struct shmemi_team *t)
{
    return t->in_memory && t->psync == NULL;
}

/* Performs fcollect for a team: in steps of cache lines, by nodes, or by a message to each PE,
 * depending on the size and the team. */
void shmemi_coll_fcollect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call)
{
    size_t all = shmemi_bytes(nbytes, (size_t)t->n);
    shmemi_check_symmetric("dest", dest, all, call);
    shmemi_check_symmetric("source", source, nbytes, call);
    shmemi_coll_check_overlap(dest, all, source, nbytes, /* may_be_same */ false, call);
    if (nbytes == 0)
        return;
    char *mine = (char *)dest + nbytes * (size_t)t->me;
    if (all <= STEPS_BYTES && has_steps(t)) {
        memmove(mine, source, nbytes);
        shmemi_lines_collect(t, shmemi_offset(dest), &(struct shmemi_blocks){.size = nbytes}, call);
    } else if (shmemi_by_nodes(t)) {
        shmemi_move(mine, source, nbytes, call);
        shmemi_nodes_collect(t, shmemi_offset(dest), &(struct shmemi_blocks){.size = nbytes}, call);
    } else {
        all_to_all(t, mine, source, nbytes, /* step */ 0, call);
    }
}

/* Implements shmem_fcollect of a team, with the checks of a collective call. Like the other
 * functions that implement a call on a team, it returns 0, or -1 if the handle is not a team or a
 * lost PE has ended the call. */
int shmemi_fcollect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, source, nbytes, /* what */ "", /* other */ 0, call);
    shmemi_coll_fcollect(t, dest, source, nbytes, call);
    return shmemi_collective_end() ? 0 : -1;
}

/* Returns the offset of this PE's bytes in the result of collect: the sum of the bytes of the
 * members before it, by a prefix sum. */
static size_t offset_of_block(struct shmemi_team *t, size_t nbytes, const char *call)
{
    static const struct shmemi_reducer add = {shmemi_add_u64, sizeof(uint64_t)};
    uint64_t upto = nbytes;
    shmemi_exchange_prefix(t, &upto, 1, &add, call);
    return upto - nbytes;
}

/* Exchanges the sizes of the members' blocks for collect. Returns an array with the offset of each
 * block in dest and, as its last element, the bytes of all blocks. The array is in memory of the
 * team for exchanges, of round_size bytes, and valid until the next exchange but one. Returns NULL
 * if there are too many sizes for that memory, or if the team exchanges blocks neither in steps
 * (has_steps) nor by nodes (shmemi_by_nodes). */
static const uint64_t *collect_sizes(struct shmemi_team *t, size_t nbytes, const char *call)
{
    size_t n = (size_t)t->n;
    if (!(has_steps(t) || shmemi_by_nodes(t)) || (n + 1) * sizeof(uint64_t) > t->round_size)
        return NULL;
    uint64_t *offsets = (uint64_t *)(void *)shmemi_exchange_slots(t);
    offsets[0] = 0;
    offsets[t->me + 1] = nbytes; /* a size at first, as all elements from 1 on */
    int64_t offset = (char *)(offsets + 1) - shmemi_state.peer_base[shmemi_state.my_pe];
    const struct shmemi_blocks sizes = {.size = sizeof *offsets};
    if (has_steps(t))
        shmemi_lines_collect(t, offset, &sizes, call);
    else
        shmemi_nodes_collect(t, offset, &sizes, call);
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] += offsets[i];
    return offsets;
}

/* Moves the blocks of a collect to dest of all members, each of which knows where they belong: in
 * steps or by nodes, otherwise each PE writes its block to all the others. offsets: where each
 * block begins in dest and, as element t->n, where the last one ends. Blocks of up to `placed`
 * bytes may be there already, and need not be moved; 0: none is. */
static void collect_at(struct shmemi_team *t, char *dest, const void *source,
                       const uint64_t *offsets, size_t placed, const char *call)
{
    const struct shmemi_blocks blocks = {.at = offsets, .placed = placed};
    size_t nbytes = offsets[t->me + 1] - offsets[t->me];
    char *mine = dest + offsets[t->me];
    if (offsets[t->n] <= STEPS_BYTES && has_steps(t)) {
        memmove(mine, source, nbytes);
        shmemi_lines_collect(t, shmemi_offset(dest), &blocks, call);
    } else if (shmemi_by_nodes(t)) {
        shmemi_move(mine, source, nbytes, call);
        shmemi_nodes_collect(t, shmemi_offset(dest), &blocks, call);
    } else {
        all_to_all(t, mine, source, nbytes, /* step */ 0, call);
    }
}

/* Reports whether a block is too large to have been sent with the sizes. */
static bool has_large_blocks(const struct shmemi_small_blocks *x)
{
    for (int rank = 0; rank < x->t->n; rank++)
        if (x->at[rank + 1] - x->at[rank] > x->limit)
            return true;
    return false;
}

/* Performs collect for a team. Most teams exchange the small blocks together with the sizes of all,
 * and then only the large ones, if there are any. Other teams exchange the sizes alone or, where
 * collect_sizes cannot, compute by a prefix sum where the block of each member begins. */
void shmemi_coll_collect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                         const char *call)
{
    struct shmemi_small_blocks x;
    shmemi_check_symmetric("source", source, nbytes, call);
    bool small = shmemi_small_blocks_exchange(&x, t, source, nbytes, call);
    const uint64_t *offsets = small ? x.at : collect_sizes(t, nbytes, call);
    size_t before = 0;
    if (offsets == NULL)
        before = offset_of_block(t, nbytes, call);
    if (!shmemi_collective_unbroken())
        return; /* a PE is lost, so the offsets are not valid */
    if (offsets != NULL)
        before = offsets[t->me];
    /* This also checks a member without bytes: the members before it write to its dest. */
    shmemi_check_symmetric("dest", dest, before + nbytes, call);
    shmemi_coll_check_overlap((char *)dest + before, nbytes, source, nbytes,
                              /* may_be_same */ false, call);
    if (small)
        shmemi_small_blocks_place(&x, dest);
    if (offsets == NULL)
        all_to_all(t, (char *)dest + before, source, nbytes, /* step */ 0, call);
    else if (!small || has_large_blocks(&x))
        collect_at(t, dest, source, offsets, x.limit, call);
}

/* What one PE, or several PEs together, contribute to collect, as the PEs exchange it. */
struct share {
    uint64_t nbytes; /* bytes of their blocks */
    uint64_t room;   /* size in bytes of dest at the PE where it is smallest */
};

/* Combines elements of type struct share: adds their bytes, and takes the minimum of their room. */
static void combine_shares(void *acc, const void *in, size_t n)
{
    struct share *a = acc;
    const struct share *b = in;
    for (size_t i = 0; i < n; i++) {
        a[i].nbytes += b[i].nbytes;
        a[i].room = b[i].room < a[i].room ? b[i].room : a[i].room;
    }
}

/* Performs a collect if the contributions of all members fit at every member's dest, and sets *all
 * to their bytes and to the smallest room of a member. Returns false if they do not fit, or a PE is
 * lost. All members get the same totals, so that all refuse before any has moved a byte. The
 * exchange of the totals also computes the offset of this PE's block, and takes as long as the one
 * in offset_of_block. */
static bool collect_room(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                         size_t room, struct share *all, const char *call)
{
    static const struct shmemi_reducer shares = {combine_shares, sizeof(struct share)};
    struct share mine = {nbytes, room}, upto;
    shmemi_check_symmetric("dest", dest, room, call);
    shmemi_check_symmetric("source", source, nbytes, call);
    shmemi_exchange_both(t, &upto, all, &mine, 1, &shares, call);
    if (!shmemi_collective_unbroken())
        return false; /* a PE is lost, so the totals are not valid */
    if (all->nbytes > all->room)
        return false;
    char *at = (char *)dest + (upto.nbytes - nbytes);
    /* A team of one copies its block to itself, so that source may be dest. */
    shmemi_coll_check_overlap(dest, all->nbytes, source, nbytes, t->n == 1, call);
    all_to_all(t, at, source, nbytes, /* step */ 0, call);
    return true;
}

/* Collects only if all contributions fit at each member's dest. Returns 0, 1 if they do not fit, or
 * -1 if the call has failed, and then *needed and *least are not set; see coll.h. */
int shmemi_collect_room(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                        size_t room, size_t *needed, size_t *least, const char *call)
{
    struct share all = {0, 0};
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, NULL, 0, /* what */ "", /* other */ 0, call);
    bool fits = collect_room(t, dest, source, nbytes, room, &all, call);
    if (!shmemi_collective_end())
        return -1;
    *needed = all.nbytes;
    *least = all.room;
    return fits ? 0 : 1;
}

/* Implements shmem_collect of a team, with the checks of a collective call. */
int shmemi_collect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                   const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    /* Members may contribute different sizes, and any source, so only dest is compared. */
    shmemi_coll_check_arguments(t, dest, NULL, 0, /* what */ "", /* other */ 0, call);
    shmemi_coll_collect(t, dest, source, nbytes, call);
    return shmemi_collective_end() ? 0 : -1;
}

/* Performs alltoall for a team: in steps or with one message for each pair of nodes if the blocks
 * are small, else with one for each PE. */
void shmemi_coll_alltoall(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call)
{
    size_t all = shmemi_bytes(nbytes, (size_t)t->n);
    shmemi_check_symmetric("dest", dest, all, call);
    shmemi_check_symmetric("source", source, all, call);
    shmemi_coll_check_overlap(dest, all, source, all, /* may_be_same */ false, call);
    if (nbytes == 0)
        return;
    if (shmemi_alltoall_has_steps(t, nbytes)) {
        shmemi_alltoall_steps(t, dest, source, nbytes, call);
    } else if (shmemi_nodes_swaps(t, nbytes)) {
        shmemi_nodes_alltoall(t, dest, source, nbytes, call);
    } else {
        all_to_all(t, (char *)dest + nbytes * (size_t)t->me, source, nbytes, nbytes, call);
    }
}

/* Implements shmem_alltoall of a team, with the checks of a collective call. */
int shmemi_alltoall(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, source, nbytes, /* what */ "", /* other */ 0, call);
    shmemi_coll_alltoall(t, dest, source, nbytes, call);
    return shmemi_collective_end() ? 0 : -1;
}

/* Returns the bytes from the first to the last of n elements of `size` bytes that are `stride`
 * elements apart; SIZE_MAX if the number overflows, which the check of the address then refuses. */
static size_t span_bytes(size_t n, size_t stride, size_t size)
{
    size_t all;
    if (n == 0)
        return 0;
    if (__builtin_mul_overflow(n - 1, stride, &all) || __builtin_add_overflow(all, 1, &all))
        return SIZE_MAX;
    return shmemi_bytes(all, size);
}

/* Ends the job if the strides or arrays of an alltoalls are wrong. */
void shmemi_coll_check_alltoalls(const struct shmemi_team *t, const void *dest, const void *source,
                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t size,
                                 const char *call)
{
    if (dst < 1 || sst < 1)
        shmemi_abort(call, "use 1 for elements side by side, or more", "stride %s is %td",
                     dst < 1 ? "dst" : "sst", dst < 1 ? dst : sst);
    size_t all = shmemi_bytes(nelems, (size_t)t->n);
    size_t nd = span_bytes(all, (size_t)dst, size), ns = span_bytes(all, (size_t)sst, size);
    shmemi_check_symmetric("dest", dest, nd, call);
    shmemi_check_symmetric("source", source, ns, call);
    shmemi_coll_check_overlap(dest, nd, source, ns, /* may_be_same */ false, call);
}

/* Performs alltoalls for a team: writes each member its strided elements, and then a message, which
 * a fence keeps from arriving before them. Waits for the messages of all members. */
void shmemi_coll_alltoalls(struct shmemi_team *t, void *dest, const void *source, ptrdiff_t dst,
                           ptrdiff_t sst, size_t nelems, size_t size, const char *call)
{
    shmemi_coll_check_alltoalls(t, dest, source, dst, sst, nelems, size, call);
    if (nelems == 0)
        return;
    char *mine = (char *)dest + nelems * (size_t)t->me * (size_t)dst * size;
    for (int i = 0; i < t->n; i++) {
        int rank = (t->me + i) % t->n;
        const char *from = (const char *)source + nelems * (size_t)rank * (size_t)sst * size;
        shmemi_iput(SHMEM_CTX_DEFAULT, mine, from, dst, sst, /* bsize */ 1, nelems, size,
                    t->pes[rank], call);
        if (i == 0)
            continue; /* this PE itself, which needs no message */
        /* Without this fence the message could arrive before bytes that a GPU still copies. */
        shmemi_fence(SHMEM_CTX_DEFAULT, call);
        shmemi_message(t, rank, call);
    }
    for (int i = 1; i < t->n; i++)
        shmemi_await(t, (t->me + t->n - i) % t->n, call);
}

/* Implements shmem_alltoalls of a team, with the checks of a collective call. */
int shmemi_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                     ptrdiff_t sst, size_t nelems, size_t size, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    const int64_t strides = dst ^ sst << 32; /* one number, to compare both at once */
    shmemi_coll_check_arguments(t, dest, source, shmemi_bytes(nelems, size), "a stride", strides,
                                call);
    shmemi_coll_alltoalls(t, dest, source, dst, sst, nelems, size, call);
    return shmemi_collective_end() ? 0 : -1;
}
