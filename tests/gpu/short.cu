/*
 * short.cu: reductions and reduce-scatters in rounds, each with another length around the greatest
 * that goes in lines (device/shmem/packed.h), so that rounds in lines and rounds in buffers follow
 * each other; by a thread, a warp and a block; in place and not, at addresses that are aligned to
 * an element only. A PE is late now and then, and the others run ahead as far as they may.
 *
 * shmemrun -n N short [ROUNDS]
 */
#include "try.h"

#include <shmem/scatter.h>

namespace kernels
{

/* The greatest number of bytes of a round. */
constexpr size_t LONGEST = 1040;

/* Element i of a PE's source in a round. */
template <class T> BOTH T element(int pe, int round, size_t i)
{
    return (T)(pe * 7 + round * 13 + (int)i % 11 + 1);
}

/* The number of elements of a round: none between two rounds in lines, and numbers on both sides of
 * 512 bytes, the most that go in lines, or 32 by a thread. */
template <class T> BOTH size_t length(int scope, int round)
{
    const size_t most = (scope == thread ? 32 : 512) / sizeof(T),
                 lengths[] = {1, most, 0, 3, most + 1, most - 1, 2 * most, 9};
    return lengths[round % 8];
}

struct place {
    char *source, *dest; /* of LONGEST bytes for each PE, and of LONGEST */
    int me, pes, *bad;
};

/* Whether a round is a reduce-scatter, and whether dest is the part of source that is replaced. */
BOTH bool scatters(int round)
{
    return round % 3 == 2;
}
BOTH bool in_place(int round)
{
    return round % 5 == 1;
}

#define BY(name, ...)                                                                              \
    (scope == thread ? shmem_##name(__VA_ARGS__)                                                   \
     : scope == warp ? shmemx_##name##_warp(__VA_ARGS__)                                           \
                     : shmemx_##name##_block(__VA_ARGS__))

/* As the names of NVSHMEM's surface call it. */
#define SCATTER(T, scope, ...)                                                                     \
    shmemi_reducescatter<shmemi_by_##scope, shmemi_sum, T>(SHMEMI_JOB, 0, __VA_ARGS__)
#define SCATTER_BY(T, ...)                                                                         \
    (scope == thread ? SCATTER(T, thread, __VA_ARGS__)                                             \
     : scope == warp ? SCATTER(T, warp, __VA_ARGS__)                                               \
                     : SCATTER(T, block, __VA_ARGS__))

/* One round. Returns whether it failed. */
#define ROUND(T, name)                                                                             \
    STEP round_of_##name(const place &p, int scope, int round)                                     \
    {                                                                                              \
        const size_t n = length<T>(scope, round), step = (round & 1) * sizeof(T);                  \
        const size_t parts = scatters(round) ? (size_t)p.pes : 1;                                  \
        const size_t first = parts == 1 ? 0 : (size_t)p.me * n;                                    \
        T *source = (T *)(p.source + step);                                                        \
        T *dest = in_place(round) ? source + first : (T *)(p.dest + step);                         \
        for (size_t i = threadIdx.x; i < parts * n; i += blockDim.x)                               \
            source[i] = element<T>(p.me, round, i);                                                \
        int status = scatters(round) ? SCATTER_BY(T, SHMEM_TEAM_WORLD, dest, source, n)            \
                                     : BY(name##_sum_reduce, SHMEM_TEAM_WORLD, dest, source, n);   \
        for (size_t i = threadIdx.x; i < n; i += blockDim.x) {                                     \
            T want = 0;                                                                            \
            for (int pe = 0; pe < p.pes; pe++)                                                     \
                want = (T)(want + element<T>(pe, round, first + i));                               \
            if (dest[i] != want)                                                                   \
                *p.bad = round + 1;                                                                \
        }                                                                                          \
        if (status != 0)                                                                           \
            *p.bad = round + 1;                                                                    \
    }
ROUND(uint8_t, uint8)
ROUND(short, short)
ROUND(float, float)
ROUND(uint64_t, uint64)

/* The PE whose turn it is comes late. */
STEP be_late(const place &p, int round)
{
    if (round % 16 == 5 && round / 16 % p.pes == p.me)
        for (int i = 0; i < 300; i++)
            (void)shmem_int_test(p.bad, SHMEM_CMP_EQ, -1);
}

KERNEL run(place p, int scope, int first, int rounds)
{
    ONE_BY_ONE
    for (int round = first; round < first + rounds; round++) {
        be_late(p, round);
        __syncthreads();
        switch (round % 7 % 4) {
        case 0:
            round_of_uint8(p, scope, round);
            break;
        case 1:
            round_of_short(p, scope, round);
            break;
        case 2:
            round_of_float(p, scope, round);
            break;
        default:
            round_of_uint64(p, scope, round);
        }
        __syncthreads();
    }
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("short");
    const int rounds = argc > 1 ? atoi(argv[1]) : 3000;
    const char *const names_of[] = {"a thread", "a warp", "a block"};
    kernels::place p;
    p.source = (char *)shmem_malloc(kernels::LONGEST * (size_t)pes);
    p.dest = (char *)shmem_malloc(kernels::LONGEST);
    p.bad = (int *)shmem_malloc(sizeof(int));
    p.me = me;
    p.pes = pes;
    const int zero = 0;
    copy_memory(p.bad, &zero, sizeof zero);
    shmem_barrier_all();
    for (int scope = thread; scope <= block; scope++) {
        LAUNCH(threads_of(scope), kernels::run, p, scope, scope * rounds, rounds);
        int bad;
        copy_memory(&bad, p.bad, sizeof bad);
        expect(bad == 0, std::string("by ") + names_of[scope] + ": round " +
                             std::to_string(bad - 1) + " has wrong elements");
        copy_memory(p.bad, &zero, sizeof zero);
    }
    shmem_barrier_all();
    return end();
}
