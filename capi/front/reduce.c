/*
 * reduce.c: reductions of a team.
 */
#include "reduce.h"

#include "address.h"
#include "barrier.h"
#include "below.h"
#include "column_dest.h"
#include "columns.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "combine_members.h"
#include "gpu.h"
#include "lines.h"
#include "message.h"
#include "model.h"
#include "collective_arguments.h"
#include "team_ids.h"
#include "team.h"

/*
 * Reduces in shares: each PE reduces its own share of the elements, which it reads from every
 * source and writes to every dest. Only the share's owner ever reads or writes it, so dest may be
 * source. The first sync shows that the sources are ready, and the last one that the results are
 * there.
 */
void shmemi_coll_reduce_shares(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                               const struct shmemi_reducer *reducer, const char *call)
{
    int n = t->n, me = t->me;
    size_t size = reducer->size;
    size_t share = (nelems + (size_t)n - 1) / (size_t)n;
    size_t first = share * (size_t)me < nelems ? share * (size_t)me : nelems;
    size_t end = nelems - first < share ? nelems : first + share;
    size_t piece = SHMEMI_PIECE / size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE];

    shmemi_sync_members(t, call);
    for (size_t at = first; at < end; at += piece) {
        size_t k = end - at < piece ? end - at : piece;
        shmemi_combine_members(t, NULL, (uint32_t)n, acc, source + at * size, k, reducer, call);
        for (int i = 0; i < n; i++)
            shmemi_put(SHMEM_CTX_DEFAULT, dest + at * size, acc, k * size, t->pes[(me + i) % n],
                       call);
    }
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    shmemi_sync_members(t, call);
}

/* Combines this PE's share: the other PEs have written their elements of it into the blocks of
 * dest, and its own are in source. The result replaces this PE's own block in dest. Memory that
 * this process cannot load, of a GPU, is copied to `fetched` first. */
void shmemi_combine_blocks(struct shmemi_team *t, char *dest, const char *source, size_t share,
                           const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size, piece = SHMEMI_PIECE / size;
    int me = t->me, self = shmemi_state.my_pe; /* this PE: its rank, and its number in the job */
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE], fetched[SHMEMI_PIECE];
    for (size_t at = 0; at < share; at += piece) {
        size_t k = share - at < piece ? share - at : piece;
        for (int rank = 0; rank < t->n; rank++) {
            const char *block = (rank == me ? source : dest) + ((size_t)rank * share + at) * size;
            const void *in = shmemi_near(block, self);
            if (in == NULL) {
                shmemi_get(SHMEM_CTX_DEFAULT, fetched, block, k * size, self, call);
                in = fetched;
            }
            if (rank == 0)
                memcpy(acc, in, k * size);
            else
                reducer->combine(acc, in, k);
        }
        shmemi_put(SHMEM_CTX_DEFAULT, dest + ((size_t)me * share + at) * size, acc, k * size, self,
                   call);
    }
}

/*
 * Reduces over several nodes, where a read takes a round trip and a write does not. Each PE reduces
 * one share of the elements. Every PE writes its elements of another PE's share to that PE, into
 * the block of dest that belongs to the writer's share. When that PE has reported that it has used
 * the elements in the block, the writer replaces them by the result of its share. nelems is a
 * multiple of the number of PEs, and dest is not source.
 */
static void reduce_by_blocks(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                             const struct shmemi_reducer *reducer, const char *call)
{
    int n = t->n, me = t->me;
    size_t share = nelems / (size_t)n, bytes = share * reducer->size;
    char *mine = dest + (size_t)me * bytes;
    struct shmemi_lent lent;
    shmemi_lent_begin(&lent);
    for (int i = 1; i < n; i++) {
        int rank = (me + i) % n;
        shmemi_message_data(t, rank, mine, source + (size_t)rank * bytes, bytes, &lent, call);
    }
    for (int i = 1; i < n; i++)
        shmemi_await(t, (me + i) % n, call);
    shmemi_combine_blocks(t, dest, source, share, reducer, call);
    for (int i = 1; i < n; i++)
        shmemi_message(t, (me + i) % n, call);
    for (int i = 1; i < n; i++) {
        int rank = (me + i) % n;
        shmemi_await(t, rank, call);
        shmemi_message_data(t, rank, mine, mine, bytes, &lent, call);
    }
    for (int i = 1; i < n; i++)
        shmemi_await(t, (me + i) % n, call);
    shmemi_lent_back(&lent, call);
}

/* Reduces more elements than fit into a slot of the team's scratch memory. Over several nodes the
 * blocks of reduce_by_blocks take all elements but the rest of the division by the number of PEs.
 */
static void reduce_large(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call)
{
    size_t rest = nelems % (size_t)t->n, even = nelems - rest, done = 0; /* done: in bytes */
    if (t->n_nodes > 1 && dest != source && even > 0) {
        reduce_by_blocks(t, dest, source, even, reducer, call);
        done = even * reducer->size;
        nelems = rest;
    }
    if (nelems > 0)
        shmemi_coll_reduce_shares(t, dest + done, source + done, nelems, reducer, call);
}

/* Reports whether a team reduces so many elements in dest (column_dest.h): they fit into no slot of
 * its scratch memory, and the cost model (model.h) finds that faster. */
static bool goes_in_dest(const struct shmemi_team *t, size_t nelems, size_t bytes)
{
    return bytes > t->slot_size && shmemi_by_nodes(t) && shmemi_model_in_dest(t, bytes) &&
           shmemi_column_dest_elements(t, nelems) > 0;
}

/* Reduces in dest, and the few elements that cannot be divided by exchanges. */
static void reduce_in_dest(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                           const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size, piece = t->slot_size / size;
    size_t even = shmemi_column_dest_elements(t, nelems);
    shmemi_column_dest(t, dest, source, even, reducer, call);
    for (size_t at = even; at < nelems && shmemi_collective_unbroken(); at += piece)
        shmemi_exchange(t, dest + at * size, source + at * size,
                        nelems - at < piece ? nelems - at : piece, reducer, call);
}

/* Reduces the elements of all members: in columns, in one exchange, in dest, or in shares, as suits
 * the team and the size best. */
void shmemi_coll_reduce(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                        const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = shmemi_bytes(nelems, reducer->size);
    shmemi_check_symmetric("dest", dest, bytes, call);
    shmemi_check_symmetric("source", source, bytes, call);
    shmemi_coll_check_overlap(dest, bytes, source, bytes, /* may_be_same */ true, call);
    if (nelems == 0)
        return;
    if (goes_in_dest(t, nelems, bytes))
        reduce_in_dest(t, dest, source, nelems, reducer, call);
    else if (bytes > SHMEMI_LINE_DATA && shmemi_has_columns(t))
        shmemi_columns_reduce(t, dest, source, nelems, reducer, call);
    else if (t->scratch != NULL && bytes <= t->slot_size)
        shmemi_exchange(t, dest, source, nelems, reducer, call);
    else
        reduce_large(t, dest, source, nelems, reducer, call);
}

/* Implements the reductions of OpenSHMEM over a team, with the checks of a collective call. Returns
 * 0, or -1 if the handle is not a team or a lost PE has ended the call. */
int shmemi_reduce(shmem_team_t team, void *dest, const void *source, size_t nelems,
                  const struct shmemi_reducer *reducer, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, dest, source, shmemi_bytes(nelems, reducer->size), /* what */ "",
                                /* other */ 0, call);
    shmemi_coll_reduce(t, dest, source, nelems, reducer, call);
    return shmemi_collective_end() ? 0 : -1;
}

/* Does what shmemi_reduce does. It is exported for the libraries on top of this one (below.h),
 * which supply operations of their own. */
int shmemi_reduce_by(shmem_team_t team, void *dest, const void *source, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call)
{
    return shmemi_reduce(team, dest, source, nelems, reducer, call);
}

/* Performs a reducescatter: each PE combines its part of all sources. No PE writes a piece before
 * all PEs have read theirs, so that dest may be a part of source: its own part, or its first one.
 */
static void reducescatter(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                          const struct shmemi_reducer *reducer, const char *call)
{
    size_t size = reducer->size, piece = SHMEMI_PIECE / size;
    const char *mine = source + (size_t)t->me * nelems * size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[SHMEMI_PIECE];
    shmemi_sync_members(t, call);
    for (size_t at = 0; at < nelems; at += piece) {
        size_t k = nelems - at < piece ? nelems - at : piece;
        shmemi_combine_members(t, NULL, (uint32_t)t->n, acc, mine + at * size, k, reducer, call);
        shmemi_sync_members(t, call);
        shmemi_move(dest + at * size, acc, k * size, call);
    }
}

/* Implements reducescatter of a team: checks the arguments. If all nodes have equally many members,
 * the arrays do not overlap and the memory for rounds suffices (rounds.h), it reduces in columns
 * (the k-th PEs of all nodes), otherwise in parts, one on each PE. Returns 0, or -1. */
int shmemi_reducescatter(shmem_team_t team, void *dest, const void *source, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    size_t bytes = shmemi_bytes(nelems, reducer->size);
    shmemi_coll_check_arguments(t, dest, source, bytes, /* what */ "", /* other */ 0, call);
    shmemi_check_symmetric("dest", dest, bytes, call);
    shmemi_check_symmetric("source", source, shmemi_bytes(bytes, (size_t)t->n), call);
    if ((shmemi_has_parts(t) ||
         (shmemi_has_columns(t) && shmemi_model_scatters_in_halves(t, bytes, reducer->size))) &&
        t->even && !shmemi_overlap(dest, bytes, source, bytes * (size_t)t->n))
        shmemi_columns_scatter(t, dest, source, nelems, reducer, call);
    else
        reducescatter(t, dest, source, nelems, reducer, call);
    return shmemi_collective_end() ? 0 : -1;
}
