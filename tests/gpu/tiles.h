/*
 * tiles.h: the parts of tiles.cu that differ between a GPU and host threads
 * (tests/device/emulated), and the kernel, with each call on tiles, in every scope.
 */
#ifndef TESTS_GPU_TILES_H
#define TESTS_GPU_TILES_H

#ifdef EMULATED
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#define NVSHMEM_NAMES
#include "emulated.h"

static inline float __half2float(__half v)
{
    return v;
}
static inline __half __float2half_rn(float v)
{
    return __half(v);
}
static inline float __bfloat162float(__nv_bfloat16 v)
{
    return v;
}
static inline __nv_bfloat16 __float2bfloat16_rn(float v)
{
    return __nv_bfloat16(v);
}

#include <nvshmem/device/tile/nvshmemx_tile_api.hpp>

#define KERNEL static void
#define DEVICE(name) kernels::name
#define LAUNCH(threads, kernel, ...) emulate(threads, [&] { kernel(__VA_ARGS__); })
#else
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cuda_runtime.h>
#define KERNEL static __global__ void
#define DEVICE(name) name
#define LAUNCH(threads, kernel, ...)                                                               \
    do {                                                                                           \
        kernel<<<1, threads, 0, stream>>>(__VA_ARGS__);                                            \
        CHECK(cudaGetLastError());                                                                 \
        CHECK(cudaStreamSynchronize(stream));                                                      \
    } while (0)
#endif

namespace
{

enum { by_thread, by_warp, by_warpgroup, by_block };

inline unsigned threads_of(int scope)
{
    constexpr unsigned threads[] = {1, 32, 128, 96};
    return threads[scope];
}

/* A call in the scope of the kernel. */
#define BY_SCOPE(name, algo, ...)                                                                  \
    if constexpr (SCOPE == by_thread)                                                              \
        got = nvshmemx::name<SRC, DST, BOUND, algo>(__VA_ARGS__);                                  \
    else if constexpr (SCOPE == by_warp)                                                           \
        got = nvshmemx::name##_warp<SRC, DST, BOUND, algo>(__VA_ARGS__);                           \
    else if constexpr (SCOPE == by_warpgroup)                                                      \
        got = nvshmemx::name##_warpgroup<SRC, DST, BOUND, algo>(__VA_ARGS__);                      \
    else                                                                                           \
        got = nvshmemx::name##_block<SRC, DST, BOUND, algo>(__VA_ARGS__);

#define WAIT(algo)                                                                                 \
    {                                                                                              \
        if constexpr (SCOPE == by_thread)                                                          \
            waited = nvshmemx::tile_collective_wait<algo>(team, 0);                                \
        else if constexpr (SCOPE == by_warp)                                                       \
            waited = nvshmemx::tile_collective_wait_warp<algo>(team, 0);                           \
        else if constexpr (SCOPE == by_warpgroup)                                                  \
            waited = nvshmemx::tile_collective_wait_warpgroup<algo>(team, 0);                      \
        else                                                                                       \
            waited = nvshmemx::tile_collective_wait_block<algo>(team, 0);                          \
    }

constexpr auto PUSH = nvshmemx::tile_coll_algo_t::NVLS_ONE_SHOT_PUSH_NBI;
constexpr auto PULL = nvshmemx::tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;
constexpr auto TWO = nvshmemx::tile_coll_algo_t::NVLS_TWO_SHOT_PUSH_NBI;

enum op {
    PUT,
    GET,
    SUM,
    SUM_OLDER, /* by the name of NVSHMEM 3.4 */
    SUM_SPREAD,
    SUM_ROOTED,
    MAX,
    MAX_SPREAD,
    MAX_ROOTED,
    MIN,
    MIN_SPREAD,
    MIN_ROOTED,
    BROADCAST,
    ALLGATHER
};

#define TILE src, dst, start, bound
#define REDUCTIONS(OP, op)                                                                         \
    case OP:                                                                                       \
        BY_SCOPE(tile_##op##_reduce, PULL, team, TILE, 0)                                          \
        break;                                                                                     \
    case OP##_SPREAD:                                                                              \
        BY_SCOPE(tile_##op##_reduce, TWO, team, TILE, root, 0)                                     \
        break;                                                                                     \
    case OP##_ROOTED:                                                                              \
        BY_SCOPE(tile_##op##_rooted_reduce, PULL, team, TILE, root, 0)                             \
        break;

/* One kernel for all: each has the functions of the ring in it. ALL: not the first three alone. */
template <int SCOPE, bool ALL, class SRC, class DST, class BOUND>
KERNEL call(op what, nvshmem_team_t team, SRC src, DST dst, BOUND start, BOUND bound, int root,
            int *answer)
{
    int got = 0;
    switch (what) {
    case PUT:
        BY_SCOPE(tile_put, nvshmemx::tile_algo_t::PEER_PUSH_NBI, TILE, root, 0)
        break;
    case GET:
        BY_SCOPE(tile_get, nvshmemx::tile_algo_t::REMOTE_PULL_NBI, TILE, root, 0)
        break;
    case SUM:
        BY_SCOPE(tile_sum_reduce, PULL, team, TILE, 0)
        break;
    default:
        break;
    }
    if constexpr (ALL)
        switch (what) {
        case SUM_OLDER:
            BY_SCOPE(tile_sum_allreduce, PULL, team, TILE, root, 0)
            break;
        case SUM_SPREAD:
            BY_SCOPE(tile_sum_reduce, TWO, team, TILE, root, 0)
            break;
        case SUM_ROOTED:
            BY_SCOPE(tile_sum_rooted_reduce, PULL, team, TILE, root, 0)
            break;
            REDUCTIONS(MAX, max)
            REDUCTIONS(MIN, min)
        case BROADCAST:
            if (nvshmem_team_my_pe(team) == root) {
                BY_SCOPE(tile_broadcast, PUSH, team, TILE, 0)
            }
            break;
        case ALLGATHER:
            BY_SCOPE(tile_allgather, PUSH, team, TILE, 0)
            break;
        default:
            break;
        }
    int waited = 0;
    if (what == PUT || what == GET)
        DEVICE(nvshmem_quiet)();
    else if (what == SUM_SPREAD || what == MAX_SPREAD || what == MIN_SPREAD)
        WAIT(TWO)
    else if (what == BROADCAST || what == ALLGATHER)
        WAIT(PUSH)
    else
        WAIT(PULL)
    *answer = got != 0 ? got : waited;
}

/*
 * Reductions of tiles and of arrays alternate, without a wait between them: one fetches into a
 * buffer of the team, the other is sent into it.
 */
template <class TENSOR>
KERNEL in_turn(TENSOR src, TENSOR dst, const float *from, float *to, int count, float sum,
               float other, int *answer)
{
    struct nothing {
    };
    for (int turn = 0; turn < 40; turn++) {
        nvshmemx::tile_sum_reduce_block<TENSOR, TENSOR, nothing, PULL>(NVSHMEM_TEAM_WORLD, src, dst,
                                                                       nothing{}, nothing{}, 0);
        nvshmemx::tile_collective_wait_block<PULL>(NVSHMEM_TEAM_WORLD, 0);
        for (int i = 0; i < count; i++)
            if (dst.data()[i] != sum)
                *answer = 1 + turn;
        DEVICE(nvshmemx_float_sum_reduce_block)(NVSHMEM_TEAM_WORLD, to, from, (size_t)count);
        for (int i = 0; i < count; i++)
            if (to[i] != other)
                *answer = 1000 + turn;
    }
}

} // namespace

/* Types of another template library, which describe a tile as NVSHMEM's do. */
namespace theirs
{
struct pair {
    int a, b;
};
template <size_t I> NVSHMEMI_BOTH constexpr int get(const pair &p)
{
    return I == 0 ? p.a : p.b;
}
struct iterator {
    float *at;
    NVSHMEMI_BOTH float &operator*() const
    {
        return *at;
    }
};
struct tensor {
    using value_type = float;
    float *at;
    pair sizes, steps;
    NVSHMEMI_BOTH iterator data() const
    {
        return {at};
    }
    NVSHMEMI_BOTH pair shape() const
    {
        return sizes;
    }
    NVSHMEMI_BOTH pair stride() const
    {
        return steps;
    }
};
} // namespace theirs
template <> struct cuda::std::tuple_size<theirs::pair> {
    static constexpr size_t value = 2;
};

#endif
