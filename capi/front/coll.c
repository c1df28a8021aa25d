/*
 * coll.c: broadcast, fcollect, alltoall and reductions on the world team.
 *
 * The specification has the caller make sure, before anyone enters, that dest
 * is ready on every PE, so data goes straight into dest and needs no copy on
 * the way. Reads of a peer's source wait for a message of that peer.
 */
#include "coll.h"
#include "gpu.h"

/* Up to here a root writes to each PE of its node; above, they read from it
 * side by side. Two PEs gain nothing from that. */
#define PULL_BYTES ((size_t)32 << 10)

/* Pieces of a large reduction: near peers are combined from where they are, and
 * the accumulator stays in the second-level cache; far ones are fetched. */
#define PIECE_BYTES ((size_t)64 << 10)

/* 0 when the call may go on; the status to return otherwise. */
static int check(shmem_team_t team, const void *dest, size_t dest_bytes, const void *source,
                 size_t source_bytes, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (s->n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (team == SHMEM_TEAM_INVALID)
        return -1;
    if (team != SHMEM_TEAM_WORLD)
        shmemi_abort(call, "pass SHMEM_TEAM_WORLD", "team %d does not exist", (int)team);
    const struct {
        const char *name;
        const void *p;
        size_t n;
    } args[] = {{"dest", dest, dest_bytes}, {"source", source, source_bytes}};
    for (int i = 0; i < 2; i++)
        if (args[i].n > 0 && !shmemi_symmetric(args[i].p, args[i].n))
            shmemi_abort(call, "pass memory from shmem_malloc, large enough for every element",
                         "%s %p with %zu bytes is not in the symmetric heap", args[i].name,
                         args[i].p, args[i].n);
    return 0;
}

/* Far puts may still read their source after shmemi_message_data. */
static void release_sources(const char *call)
{
    if (shmemi_state.networked)
        shmemi_quiet(call);
}

/* --------------------------------------------------------------- broadcast */

/* Gives n bytes at from, which are at heap address `at` of this PE where peers
 * are to read them, to every other PE of this node. */
static void spread_on_node(void *dest, const void *from, size_t n, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    bool pull = n >= PULL_BYTES && s->node_pes > 2;
    for (uint32_t i = 1; i < s->node_pes; i++) {
        int pe = s->node_members[(s->node_rank + i) % s->node_pes];
        if (pull)
            shmemi_message(pe, call);
        else
            shmemi_message_data(pe, dest, from, n, call);
    }
    for (uint32_t i = 1; pull && i < s->node_pes; i++)
        shmemi_await(s->node_members[(s->node_rank + i) % s->node_pes], call);
}

/* The other side of spread_on_node. */
static void receive_on_node(int pe, void *dest, const void *from, size_t n, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    shmemi_await(pe, call);
    if (n >= PULL_BYTES && s->node_pes > 2) {
        shmemi_get(dest, from, n, pe, call);
        shmemi_message(pe, call);
    }
}

int shmemi_broadcast(shmem_team_t team, void *dest, const void *source, size_t nbytes, int root,
                     const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    int status = check(team, dest, nbytes, source, nbytes, call);
    if (status != 0)
        return status;
    if ((uint32_t)root >= s->n_pes)
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "root PE %d does not exist, there are %u",
                     root, s->n_pes);
    if (nbytes == 0)
        return 0;

    if (!shmemi_collective_begin(call))
        return -1;
    bool root_is_near = s->peer_base[root] != NULL;
    if (s->my_pe == root) {
        for (uint32_t i = 1; i < s->n_nodes; i++)
            shmemi_message_data(s->node_leaders[(s->node + i) % s->n_nodes], dest, source, nbytes,
                                call);
        spread_on_node(dest, source, nbytes, call);
        release_sources(call);
        if (dest != source)
            shmemi_move(dest, source, nbytes, call);
    } else if (root_is_near) {
        receive_on_node(root, dest, source, nbytes, call);
    } else if (s->node_rank == 0) {
        shmemi_await(root, call);
        spread_on_node(dest, dest, nbytes, call);
    } else {
        receive_on_node(s->node_members[0], dest, dest, nbytes, call);
    }
    return shmemi_collective_end() ? 0 : -1;
}

/* ---------------------------------------------------- fcollect and alltoall */

/* Block i of what this PE contributes goes to PE i; step is 0 when all get the
 * same block. */
static int all_to_all(char *dest, const char *source, size_t nbytes, size_t step, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (!shmemi_collective_begin(call))
        return -1;
    int n = (int)s->n_pes, me = s->my_pe;
    char *mine = dest + nbytes * (size_t)me;
    for (int i = 1; i < n; i++) {
        int pe = (me + i) % n;
        shmemi_message_data(pe, mine, source + step * (size_t)pe, nbytes, call);
    }
    shmemi_move(mine, source + step * (size_t)me, nbytes, call);
    release_sources(call);
    for (int i = 1; i < n; i++)
        shmemi_await((me + n - i) % n, call);
    return shmemi_collective_end() ? 0 : -1;
}

int shmemi_fcollect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call)
{
    int status = check(team, dest, shmemi_bytes(nbytes, shmemi_state.n_pes), source, nbytes, call);
    if (status == 0 && nbytes > 0)
        status = all_to_all(dest, source, nbytes, 0, call);
    return status;
}

int shmemi_alltoall(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call)
{
    size_t all = shmemi_bytes(nbytes, shmemi_state.n_pes);
    int status = check(team, dest, all, source, all, call);
    if (status == 0 && nbytes > 0)
        status = all_to_all(dest, source, nbytes, nbytes, call);
    return status;
}

/* -------------------------------------------------------------- reductions */

/*
 * Each PE reduces its own share of the elements, reading that share from every
 * source and writing it to every dest. Only the share's owner ever reads or
 * writes it, so dest may be source.
 */
static void reduce_shares(char *dest, const char *source, size_t nelems,
                          const struct shmemi_reducer *reducer, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    int n = (int)s->n_pes, me = s->my_pe;
    size_t size = reducer->size;
    size_t share = (nelems + s->n_pes - 1) / s->n_pes;
    size_t first = share * (size_t)me < nelems ? share * (size_t)me : nelems;
    size_t last = nelems - first < share ? nelems : first + share;
    size_t piece = PIECE_BYTES / size;
    _Alignas(SHMEMI_CACHE_LINE) char acc[PIECE_BYTES], fetched[PIECE_BYTES];

    shmemi_sync_all(call);
    for (size_t at = first; at < last; at += piece) {
        size_t k = last - at < piece ? last - at : piece;
        size_t offset = at * size, bytes = k * size;
        for (int pe = 0; pe < n; pe++) {
            const void *in = shmemi_near(source + offset, pe);
            if (in == NULL) {
                shmemi_get(fetched, source + offset, bytes, pe, call);
                in = fetched;
            }
            if (pe == 0)
                memcpy(acc, in, bytes);
            else
                reducer->combine(acc, in, k);
        }
        for (int i = 0; i < n; i++)
            shmemi_put(dest + offset, acc, bytes, (me + i) % n, call);
    }
    shmemi_barrier_all(call);
}

int shmemi_reduce(shmem_team_t team, void *dest, const void *source, size_t nelems,
                  const struct shmemi_reducer *reducer, const char *call)
{
    size_t bytes = shmemi_bytes(nelems, reducer->size);
    int status = check(team, dest, bytes, source, bytes, call);
    if (status != 0 || nelems == 0)
        return status;
    if (!shmemi_collective_begin(call))
        return -1;
    if (bytes <= SHMEMI_SLOT)
        shmemi_exchange(dest, source, nelems, reducer, call);
    else
        reduce_shares(dest, source, nelems, reducer, call);
    return shmemi_collective_end() ? 0 : -1;
}
