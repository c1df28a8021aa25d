/*
 * reduce.h: reductions over a team. Each PE sends a chunk of its source into every other PE's
 * buffer and combines the chunks that have arrived, in the order of the PEs, so that all have the
 * same result to the last bit.
 *
 * There are two buffers, used alternately. A PE that sends the chunk of round t + 2 has waited for
 * all chunks of round t + 1, and every PE sends its chunk of round t + 1 only after it has combined
 * those of round t: so the buffer that is written again is free without a message that says so.
 * Rounds are counted over all reductions of a team. Short reductions use lines instead of chunks
 * (packed.h).
 */
#ifndef SHMEM_REDUCE_H
#define SHMEM_REDUCE_H

#include "coll.h"
#include "operators.h"
#include "packed.h"

#ifdef SHMEMI_KERNEL

/* Combines the chunks of all PEs into dest, element by element, in the order of the PEs. This PE's
 * own chunk is `mine`, and the others are in the buffer, chunk bytes apart. */
template <class SCOPE, class OP, class T>
SHMEMI_D void shmemi_combine(T *dest, const T *mine, const char *buffer, uint64_t chunk, int me,
                             int n, uint64_t elements)
{
#pragma unroll 1
    for (uint64_t i = SCOPE::rank(); i < elements; i += SCOPE::size()) {
        T v = me == 0 ? mine[i] : ((const T *)(const void *)buffer)[i];
        for (int pe = 1; pe < n; pe++) {
            const T *theirs = (const T *)(const void *)(buffer + (uint64_t)pe * chunk);
            v = OP::template apply<T>(v, pe == me ? mine[i] : theirs[i]);
        }
        dest[i] = v;
    }
}

/* The state of a reduction between two rounds, in each of which every PE sends one chunk. */
struct shmemi_rounds {
    struct shmemi_members team;
    uint64_t round, chunk; /* the next round; bytes of a chunk, 0: the team is invalid */
};

/*
 * Opens the team of a reduction and begins its first round. In the result a chunk of 0 bytes stands
 * for SHMEM_TEAM_INVALID.
 */
template <class SCOPE>
SHMEMI_COLD struct shmemi_rounds shmemi_reduce_begin(const struct shmemi_device_image *image,
                                                     uint32_t call, shmemi_team_t team,
                                                     const void *dest, uint64_t bytes)
{
    struct shmemi_rounds r;
    r.chunk = 0;
    r.round = 0;
    if (shmemi_team_open(image, call, team, &r.team) != 0)
        return r;
    shmemi_check_range(image, call, image->job.me, dest, bytes);
    r.chunk = shmemi_work_fit((uint64_t)r.team.n, r.team.data);
    r.round = shmemi_step_begin<SCOPE>(image, r.team.work.round);
    return r;
}

/*
 * Does one round of a reduction: sends this PE's chunk, waits for those of all others, and returns
 * the buffer that has them, at the place of each PE's rank; this PE's own place has none.
 */
template <class SCOPE>
SHMEMI_COLD const char *shmemi_reduce_round(const struct shmemi_device_image *image,
                                            const struct shmemi_rounds *r, const void *source,
                                            uint64_t bytes)
{
    const struct shmemi_members *m = &r->team;
    uint64_t n = (uint64_t)m->n, me = (uint64_t)m->me;
    char *buffer = m->work.buffers + (r->round & 1) * n * r->chunk;
    if (n > 1) {
        shmemi_send_all<SCOPE, 0 /* BLOCKS */, 0 /* SELF */>(image, m, buffer + me * r->chunk,
                                                             (const char *)source, bytes,
                                                             m->work.pushed + me, r->round);
        shmemi_await_all<SCOPE>(image, m, m->work.pushed, r->round);
        SCOPE::sync();
    }
    return buffer;
}

/*
 * Reduces the sources of all PEs of a team into each dest, in rounds of one chunk. Before the next
 * round all threads have combined the chunks of this one, because the next message of this PE says
 * so; and rings carry out its messages after those of this round. With no elements there is no
 * round, and the counter of rounds stays as it was. Returns 0, or -1 for SHMEM_TEAM_INVALID.
 */
template <class SCOPE, class OP, class T>
SHMEMI_D int shmemi_reduce(const struct shmemi_device_image *image, uint32_t call,
                           shmemi_team_t team, T *dest, const T *source, size_t count)
{
    struct shmemi_rounds r = shmemi_reduce_begin<SCOPE>(image, call, team, dest, count * sizeof(T));
    if (r.chunk == 0)
        return -1;
    if (shmemi_in_lines<OP, T>::template takes<SCOPE>(image, &r.team, count)) {
        shmemi_in_lines<OP, T>::template reduce<SCOPE, 0 /* PARTS */>(image, &r.team, r.round, dest,
                                                                      source, (uint32_t)count);
        shmemi_step_end<SCOPE>(r.team.work.round, r.round);
        return 0;
    }
    for (uint64_t done = 0, part; done < count; done += part, r.round++) {
        part = r.chunk / sizeof(T);
        part = part < count - done ? part : count - done;
        const char *buffer = shmemi_reduce_round<SCOPE>(image, &r, source + done, part * sizeof(T));
        shmemi_combine<SCOPE, OP, T>(dest + done, source + done, buffer, r.chunk, r.team.me,
                                     r.team.n, part);
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_order_rings(image);
    }
    shmemi_step_end<SCOPE>(r.team.work.round, r.round - 1);
    return 0;
}

#endif

#endif
