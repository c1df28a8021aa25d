/*
 * reduce.h: reductions over a team, for a stream. There are three algorithms; the host chooses the
 * fastest that the team and the size allow:
 *
 * packed, of the world alone: each PE stores its source into every other PE's memory, in words of
 * which one half is data and the other half is the number of the call. A reader that finds the
 * right number in a word has its data, so there is no flag after the data and no message that it
 * has been read. It moves twice the bytes, and is the fastest algorithm for short arrays.
 *
 * spread: PE i combines the i-th part of all sources, which it reads in place, and stores the
 * result into every dest. Both directions of each link carry the same load.
 *
 * any: one block reduces over any path, like a kernel of the program.
 *
 * All algorithms combine the sources in the order of the PEs, on one PE or in the same way on all,
 * so that all PEs have the same bits.
 */
#ifndef SHMEM_KERNELS_REDUCE_H
#define SHMEM_KERNELS_REDUCE_H

#include <shmem/scatter.h>

#include "element.h"
#include "share.h"

/*
 * Does the packed reduction, in lines (device/shmem/packed.h) of its own, which have space for
 * longer arrays than a team's lines. The number in the lines is the number of the call. Each of the
 * two sets of lines has `room` lines of 16 bytes for each PE; the 128 bytes before them hold the
 * count of calls. The host has checked that the array fits into the lines, and that this GPU can
 * address the memory of all PEs. All words are sent before the first is waited for; a thread stores
 * results only over words of source that it has sent, so source and dest may be the same.
 */
template <class EACH, class T>
SHMEMI_D void shmemi_reduce_packed(const struct shmemi_stream_call *c)
{
    constexpr uint32_t elements = 8 / sizeof(T);
    const struct shmemi_stream_work w = shmemi_stream_work();
    struct shmemi_members m;
    shmemi_world(&shmemi_job, &m);
    const int n = m.n, me = m.me;
    const uint64_t call = shmemi_load_near(w.calls) + 1;
    const uint32_t number = shmemi_line_number(call);
    const uint64_t room = (SHMEMI_WORK_STREAM - 128) / 16 / (2 * (uint64_t)n);
    char *lines = w.lines + 16 * room * (uint64_t)n * (call & 1);
    const T *source = (const T *)(uintptr_t)c->source;
    T *dest = (T *)(uintptr_t)c->dest;
    const uint64_t count = (c->count + elements - 1) / elements;
    const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;

#pragma unroll 1
    for (uint64_t i = first; i < count; i += step) {
        uint64_t data = shmemi_load_packed<T>(source + i * elements, c->count - i * elements);
        char *line = lines + 16 * (room * (uint64_t)me + i);
#pragma unroll 1
        for (int k = 1; k < n; k++)
            shmemi_store_line(shmemi_direct(&shmemi_job, line, (me + k) % n), data, number);
    }
#pragma unroll 1
    for (uint64_t i = first; i < count; i += step) {
        uint64_t mine = shmemi_load_packed<T>(source + i * elements, c->count - i * elements);
        uint64_t v =
            shmemi_combine_lines<EACH>(&shmemi_job, &m, lines + 16 * i, 16 * room, number, mine);
        shmemi_store_packed<T>(dest + i * elements, c->count - i * elements, v);
    }
    struct shmemi_work all;
    shmemi_work_at(shmemi_job.job.work, (uint64_t)n, &all);
    if (shmemi_last_block(all.ticket))
        if (threadIdx.x == 0)
            shmemi_store_near(w.calls, call);
}

/* The unit that shmemi_reduce_range loads, combines and stores at a time: here an element. */
template <class EACH, class T> struct shmemi_element {
    static constexpr uint32_t batch = 1;
    T v;
    SHMEMI_D void load(const char *at, shmemi_element *to)
    {
        typename shmemi_bits<sizeof(T)>::type bits;
        shmemi_load_element(at, &bits);
        to->v = shmemi_as<T>(bits);
    }
    SHMEMI_D void store(char *at, shmemi_element from)
    {
        typedef typename shmemi_bits<sizeof(T)>::type bits;
        shmemi_store_weak(at, shmemi_as<bits>(from.v));
    }
    SHMEMI_D shmemi_element apply(shmemi_element a, shmemi_element b)
    {
        a.v = EACH::template apply<T>(a.v, b.v);
        return a;
    }
};
/* The unit that shmemi_reduce_range loads, combines and stores at a time: here 16 bytes of
 * elements. */
template <class EACH, class T> struct shmemi_elements {
    static constexpr uint32_t batch = EACH::batch;
    shmemi_wide v;
    SHMEMI_D void load(const char *at, shmemi_elements *to)
    {
        shmemi_load_element(at, &to->v);
    }
    SHMEMI_D void store(char *at, shmemi_elements from)
    {
        shmemi_store_weak(at, from.v);
    }
    SHMEMI_D shmemi_elements apply(shmemi_elements a, shmemi_elements b)
    {
        a.v.a = EACH::word(a.v.a, b.v.a);
        a.v.b = EACH::word(a.v.b, b.v.b);
        return a;
    }
};

/*
 * Reduces this thread's share of units first to last - 1 of all sources, and stores the result at
 * the same place in each dest. Of a batch, units from last on are neither loaded nor stored; what
 * is computed for them has no meaning.
 */
template <class UNIT>
SHMEMI_D void shmemi_reduce_range(const struct shmemi_members *m, const char *source, char *dest,
                                  uint64_t first, uint64_t last)
{
    const int n = m->n, me = m->me;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
#pragma unroll 1
    for (uint64_t i = first + blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < last;
         i += UNIT::batch * step) {
        UNIT sum[UNIT::batch], one[UNIT::batch];
#pragma unroll 1
        for (int rank = 0; rank < n; rank++) {
            const char *from = shmemi_direct(&shmemi_job, source, shmemi_pe_of(m, rank));
#pragma unroll
            for (uint32_t k = 0; k < UNIT::batch; k++)
                if (i + k * step < last)
                    UNIT::load(from + (i + k * step) * sizeof(UNIT), &one[k]);
#pragma unroll
            for (uint32_t k = 0; k < UNIT::batch; k++)
                sum[k] = rank == 0 ? one[k] : UNIT::apply(sum[k], one[k]);
        }
#pragma unroll 1
        for (int k = 0; k < n; k++) {
            char *to = shmemi_direct(&shmemi_job, dest, shmemi_pe_of(m, (me + k) % n));
#pragma unroll
            for (uint32_t b = 0; b < UNIT::batch; b++)
                if (i + b * step < last)
                    UNIT::store(to + (i + b * step) * sizeof(UNIT), sum[b]);
        }
    }
}

/* Reduces this PE's part, one n-th, of an array of units, and stores the result at all PEs. */
template <class UNIT>
SHMEMI_D void shmemi_reduce_part(const struct shmemi_members *m, const char *source, char *dest,
                                 uint64_t units)
{
    uint64_t n = (uint64_t)m->n, me = (uint64_t)m->me;
    uint64_t part = (units + n - 1) / n, first = me * part;
    if (first < units)
        shmemi_reduce_range<UNIT>(m, source, dest, first,
                                  part < units - first ? first + part : units);
}

/*
 * Begins a spread reduction and returns the number of its step. Sources may be read once all PEs
 * have called: the first block signals the other PEs, and every block waits for them. Thread i of a
 * block waits for the PE of rank i: the host chooses this algorithm only for teams with no more PEs
 * than a block has threads. It signals this PE, too. Each signalling thread makes a fence of its
 * own, for what the stream has done before.
 */
static __device__ __noinline__ uint64_t shmemi_spread_begin(const struct shmemi_members *m)
{
    const int n = m->n, me = m->me, i = (int)threadIdx.x;
    const uint64_t step = shmemi_load_near(m->work.step) + 1;
    if (i < n) {
        if (blockIdx.x == 0) {
            int pe = shmemi_pe_of(m, i);
            shmemi_fence_system();
            shmemi_store_element(shmemi_direct(&shmemi_job, m->work.arrived + me, pe), step);
        }
        shmemi_await(&shmemi_job, m, m->work.arrived + i, step);
    }
    __syncthreads();
    return step;
}

/*
 * Ends a spread reduction. The last block stores the number of the step, when all blocks have read
 * the counter, and waits for the other PEs.
 */
static __device__ __noinline__ void shmemi_spread_end(const struct shmemi_members *m, uint64_t step)
{
    if (shmemi_last_block(m->work.ticket)) {
        if (threadIdx.x == 0)
            shmemi_store_near(m->work.step, step);
        __syncthreads();
        shmemi_sync_members<shmemi_by_block, 0 /* COMPLETE */>(&shmemi_job, m);
    }
}

/*
 * Does the spread reduction: each PE reduces one n-th of the elements, in many blocks, and stores
 * the result at all PEs. If source and dest are aligned to 16 bytes, it reduces 16 bytes at a time,
 * and then the elements that are left; otherwise one element at a time.
 */
template <class EACH, class T>
SHMEMI_D void shmemi_reduce_spread(const struct shmemi_stream_call *c)
{
    struct shmemi_members m;
    if (shmemi_team_open(&shmemi_job, c->call, c->team, &m) != 0)
        return;
    const char *source = (const char *)(uintptr_t)c->source;
    char *dest = (char *)(uintptr_t)c->dest;
    uint64_t step = shmemi_spread_begin(&m), bytes = c->count * sizeof(T);
    uint64_t wide = ((c->source | c->dest) & 15) == 0 ? bytes / 16 : 0;
    shmemi_reduce_part<shmemi_elements<EACH, T>>(&m, source, dest, wide);
    shmemi_reduce_part<shmemi_element<EACH, T>>(&m, source + 16 * wide, dest + 16 * wide,
                                                (bytes - 16 * wide) / sizeof(T));
    shmemi_spread_end(&m, step);
}

/* Reduce-scatter, by one block. The host has checked the team, so the result is dropped, here and
 * in shmemi_any. */
struct shmemi_parts {
    template <class EACH, class T> SHMEMI_D void reduce(const struct shmemi_stream_call *c)
    {
        shmemi_reducescatter<shmemi_by_block, EACH, T>(&shmemi_job, c->call, c->team,
                                                       (T *)(uintptr_t)c->dest,
                                                       (const T *)(uintptr_t)c->source, c->count);
    }
};

/* The three algorithms as types, because reduce (kernels.cu) takes one as a template argument. */
struct shmemi_packed {
    template <class EACH, class T> SHMEMI_D void reduce(const struct shmemi_stream_call *c)
    {
        shmemi_reduce_packed<EACH, T>(c);
    }
};
struct shmemi_spread {
    template <class EACH, class T> SHMEMI_D void reduce(const struct shmemi_stream_call *c)
    {
        shmemi_reduce_spread<EACH, T>(c);
    }
};
struct shmemi_any {
    template <class EACH, class T> SHMEMI_D void reduce(const struct shmemi_stream_call *c)
    {
        (void)shmemi_reduce<shmemi_by_block, EACH, T>(&shmemi_job, c->call, c->team,
                                                      (T *)(uintptr_t)c->dest,
                                                      (const T *)(uintptr_t)c->source, c->count);
    }
};

#endif
