/*
 * device/tile/nvshmemi_tile.h: what the names of tiles do: they ask a tensor for its shape and
 * strides, and hand them to the library's own functions. Part of nvshmemx_tile_api_defines.cuh.
 *
 * A tensor is any type with value_type, data(), shape() and stride(), whose shapes are tuples of up
 * to five numbers or number-valued types. A boundary is also a tuple: an element counts if its
 * position in the tile plus the tile's start is below it in each dimension that the tuple has. A
 * type that is not a tuple is not a boundary.
 */
#ifndef NVSHMEM_DEVICE_TILE_NVSHMEMI_TILE_H
#define NVSHMEM_DEVICE_TILE_NVSHMEMI_TILE_H

#include "../../device_host/nvshmem_tensor.h"
#include "../nvshmem_defines.h"

#if defined(SHMEMI_KERNEL) && defined(NVSHMEMI_TENSORS)
/* Installed headers find it by their place, that of the sources by -I. */
#if __has_include("../../../shmem/tile_reduce.h")
#include "../../../shmem/tile_reduce.h"
#else
#include <shmem/tile_reduce.h>
#endif

/* How many numbers a tuple has; 0: it is none. */
template <class TUPLE, class = void> struct nvshmemi_rank {
    static constexpr int value = 0;
};
template <class TUPLE>
struct nvshmemi_rank<TUPLE, decltype((void)cuda::std::tuple_size<TUPLE>::value)> {
    static constexpr int value = (int)cuda::std::tuple_size<TUPLE>::value;
};

/* A number of a tuple, or another where it has no such place. Tuples may have a get of their own.
 */
template <int I, class TUPLE> SHMEMI_D int64_t nvshmemi_number(const TUPLE &tuple, int64_t other)
{
    using cuda::std::get;
    if constexpr (I < nvshmemi_rank<TUPLE>::value)
        return (int64_t)get<I>(tuple);
    else
        return other;
}

/* Whether the type of a stride is the number 1. */
template <class N, class = void> struct nvshmemi_is_one {
    static constexpr bool value = false;
};
template <class N> struct nvshmemi_is_one<N, decltype((void)N::value)> {
    static constexpr bool value = N::value == 1;
};
/* Whether the type of stride I of a tuple of strides is the number 1; false if it has no such
 * place.
 */
template <int I, class TUPLE> SHMEMI_D constexpr bool nvshmemi_stride_is_one()
{
    using cuda::std::get;
    if constexpr (I < nvshmemi_rank<TUPLE>::value)
        return nvshmemi_is_one<cuda::std::remove_cv_t<cuda::std::remove_reference_t<decltype(get<I>(
            cuda::std::declval<const TUPLE &>()))>>>::value;
    else
        return false;
}

template <class T> using nvshmemi_plain = cuda::std::remove_cv_t<cuda::std::remove_reference_t<T>>;
template <class TENSOR>
using nvshmemi_shape_of = nvshmemi_plain<decltype(cuda::std::declval<TENSOR &>().shape())>;
template <class TENSOR>
using nvshmemi_stride_of = nvshmemi_plain<decltype(cuda::std::declval<TENSOR &>().stride())>;
template <class TENSOR>
using nvshmemi_element = cuda::std::remove_cv_t<typename TENSOR::value_type>;

/*
 * The dimension whose elements are contiguous in both tensors: the first if the types say so,
 * otherwise the second if the strides say so, otherwise the first. The parts of an allgather are
 * placed along this dimension first.
 */
template <class SRC, class DST> SHMEMI_D int nvshmemi_major(const int64_t *to, const int64_t *from)
{
    if constexpr (nvshmemi_stride_is_one<0, SRC>() && nvshmemi_stride_is_one<0, DST>())
        return 0;
    if constexpr (nvshmemi_stride_is_one<1, SRC>() && nvshmemi_stride_is_one<1, DST>())
        return 1;
    return to[1] == 1 && from[1] == 1 ? 1 : 0;
}

/* How many of n elements count in dimension I of a tile: those whose position plus start is below
 * boundary; all if the tuple has no such place. It is 0 or negative if none counts. */
template <int I, class TUPLE>
SHMEMI_D int64_t nvshmemi_inside(int64_t n, const TUPLE &start, const TUPLE &boundary)
{
    if constexpr (I < nvshmemi_rank<TUPLE>::value) {
        int64_t rest = nvshmemi_number<I>(boundary, 0) - nvshmemi_number<I>(start, 0);
        return rest < n ? rest : n;
    } else {
        return n;
    }
}

/* Sets dimension I of an extent: how many elements of src count, and the strides of both tensors. A
 * dimension that the tensors lack has one element. */
template <int I, class SRC, class DST, class TUPLE>
SHMEMI_D void nvshmemi_dimension(struct shmemi_extent *e, SRC &src, DST &dst, const TUPLE &start,
                                 const TUPLE &boundary)
{
    e->n[I] = nvshmemi_inside<I>(nvshmemi_number<I>(src.shape(), 1), start, boundary);
    e->to[I] = nvshmemi_number<I>(dst.stride(), 0);
    e->from[I] = nvshmemi_number<I>(src.stride(), 0);
}

/* What of a tile lies within the boundary. */
template <class SRC, class DST, class TUPLE>
SHMEMI_D struct shmemi_extent nvshmemi_extent(SRC &src, DST &dst, const TUPLE &start,
                                              const TUPLE &boundary)
{
    static_assert(cuda::std::is_same<nvshmemi_element<SRC>, nvshmemi_element<DST>>::value,
                  "tile: source and destination have different types");
    static_assert(!cuda::std::is_const<typename DST::value_type>::value,
                  "tile: the destination is const");
    static_assert(nvshmemi_rank<nvshmemi_shape_of<SRC>>::value > 0 &&
                      nvshmemi_rank<nvshmemi_shape_of<DST>>::value > 0,
                  "tile: shape() is no tuple of numbers (use nvshmemx::make_shape)");
    static_assert(nvshmemi_rank<nvshmemi_shape_of<SRC>>::value ==
                          nvshmemi_rank<nvshmemi_stride_of<SRC>>::value &&
                      nvshmemi_rank<nvshmemi_shape_of<DST>>::value ==
                          nvshmemi_rank<nvshmemi_stride_of<DST>>::value,
                  "tile: a tensor needs a stride for each dimension of its shape");
    static_assert(nvshmemi_rank<nvshmemi_shape_of<SRC>>::value <= SHMEMI_TILE_DIMS &&
                      nvshmemi_rank<nvshmemi_shape_of<DST>>::value <= SHMEMI_TILE_DIMS,
                  "tile: tensors have up to five dimensions");
    static_assert(nvshmemi_rank<TUPLE>::value <= nvshmemi_rank<nvshmemi_shape_of<SRC>>::value,
                  "tile: the boundary has more dimensions than the source");
    struct shmemi_extent e;
    nvshmemi_dimension<0>(&e, src, dst, start, boundary);
    nvshmemi_dimension<1>(&e, src, dst, start, boundary);
    nvshmemi_dimension<2>(&e, src, dst, start, boundary);
    nvshmemi_dimension<3>(&e, src, dst, start, boundary);
    nvshmemi_dimension<4>(&e, src, dst, start, boundary);
    e.major = nvshmemi_major<nvshmemi_stride_of<SRC>, nvshmemi_stride_of<DST>>(e.to, e.from);
    return e;
}

/* The number of elements of a tensor. */
template <class TENSOR> SHMEMI_D uint64_t nvshmemi_elements_of(const TENSOR &tensor)
{
    return (
        uint64_t)(nvshmemi_number<0>(tensor.shape(), 1) * nvshmemi_number<1>(tensor.shape(), 1) *
                  nvshmemi_number<2>(tensor.shape(), 1) * nvshmemi_number<3>(tensor.shape(), 1) *
                  nvshmemi_number<4>(tensor.shape(), 1));
}

/* Where a tensor begins. Iterators of template libraries are asked for their first element. */
template <class T> SHMEMI_D char *nvshmemi_start(T *data)
{
    return (char *)(uintptr_t)data;
}
template <class ITERATOR> SHMEMI_D char *nvshmemi_start(ITERATOR data)
{
    return (char *)(uintptr_t) & *data;
}

/* Checks the arguments of a call: ends the job if flag is not 0, or if dst has not `times` times as
 * many elements as src. Returns NVSHMEMX_SUCCESS or, if a tensor has no memory, the error that the
 * call returns. */
template <class SRC, class DST>
SHMEMI_D int nvshmemi_tile_wrong(const struct shmemi_device_image *image, uint32_t call, SRC &src,
                                 DST &dst, uint64_t times, uint64_t flag)
{
    char *to = nvshmemi_start(dst.data());
    if (flag != 0)
        shmemi_fault(image, SHMEMI_FAULT_FLAG, call, image->job.me, 0, flag);
    if (to == nullptr || nvshmemi_start(src.data()) == nullptr)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    uint64_t needs = nvshmemi_elements_of(src) * times, has = nvshmemi_elements_of(dst);
    if (needs != has)
        shmemi_fault(image, SHMEMI_FAULT_TILE, call, image->job.me, has, needs);
    return NVSHMEMX_SUCCESS;
}

/* Copies a tile to PE pe or, with GET, from there: the elements of src within the boundary, to the
 * same positions of dst. Returns NVSHMEMX_SUCCESS or the error of a tensor without memory. */
template <class SCOPE, int GET, nvshmemx::tile_algo_t ALGO, class SRC, class DST, class TUPLE>
SHMEMI_D int nvshmemi_tile_copy(const struct shmemi_device_image *image, uint32_t call, SRC src,
                                DST dst, TUPLE start, TUPLE boundary, int pe, uint64_t flag)
{
    static_assert(ALGO == nvshmemx::PEER_PUSH_NBI || ALGO == nvshmemx::REMOTE_PUSH_NBI,
                  "tile_put, tile_get: no such algorithm (take PEER_PUSH_NBI, PEER_PULL_NBI, "
                  "REMOTE_PUSH_NBI or REMOTE_PULL_NBI)");
    int wrong = nvshmemi_tile_wrong(image, call, src, dst, 1, flag);
    if (wrong != NVSHMEMX_SUCCESS)
        return wrong;
    struct shmemi_extent e = nvshmemi_extent(src, dst, start, boundary);
    struct shmemi_tile t;
    shmemi_tile_of(&t, &e, sizeof(nvshmemi_element<SRC>));
    char *to = nvshmemi_start(dst.data()), *from = nvshmemi_start(src.data());
    if (GET)
        shmemi_tile_get<SCOPE>(image, call, &t, to, from, pe);
    else
        shmemi_tile_put<SCOPE>(image, call, &t, to, from, pe);
    return NVSHMEMX_SUCCESS;
}

/*
 * Where the part of PE number me of a team begins in the result of an allgather, in elements from
 * the start of dst: parts lie along the major dimension first, and then in as many rows of parts as
 * it takes. They do not go on in the next row, so that the job ends unless whole parts fit in one.
 */
template <class SRC, class DST>
SHMEMI_D int64_t nvshmemi_part(const struct shmemi_device_image *image, uint32_t call, int major,
                               SRC &src, DST &dst, int me)
{
    int64_t n[2] = {nvshmemi_number<0>(src.shape(), 1), nvshmemi_number<1>(src.shape(), 1)};
    int64_t of[2] = {nvshmemi_number<0>(dst.shape(), 1), nvshmemi_number<1>(dst.shape(), 1)};
    int64_t step[2] = {nvshmemi_number<0>(dst.stride(), 0), nvshmemi_number<1>(dst.stride(), 0)};
    int64_t along = major ? n[1] : n[0], whole = major ? of[1] : of[0];
    if (along <= 0 || whole <= 0)
        return 0;
    if (whole % along != 0)
        shmemi_fault(image, SHMEMI_FAULT_TILE, call, me, (uint64_t)whole, (uint64_t)along);
    return me * along % whole * (major ? step[1] : step[0]) +
           me * along / whole * (major ? n[0] * step[0] : n[1] * step[1]);
}

/* Sends the caller's tile to dst of every PE of the team or, with PARTS (allgather), to the part of
 * it that is the caller's. nvshmemi_tile_wait waits for it. */
template <class SCOPE, int PARTS, nvshmemx::tile_coll_algo_t ALGO, class SRC, class DST,
          class TUPLE>
SHMEMI_D int nvshmemi_tile_push(const struct shmemi_device_image *image, uint32_t call,
                                nvshmem_team_t team, SRC src, DST dst, TUPLE start, TUPLE boundary,
                                uint64_t flag)
{
    static_assert(ALGO == nvshmemx::NVLS_ONE_SHOT_PUSH_NBI,
                  "tile_broadcast, tile_allgather: no such algorithm (take "
                  "NVLS_ONE_SHOT_PUSH_NBI, which needs no multicast here)");
    static_assert(!PARTS || (nvshmemi_rank<nvshmemi_shape_of<SRC>>::value <= 2 &&
                             nvshmemi_rank<nvshmemi_shape_of<DST>>::value <= 2),
                  "tile_allgather: tensors have up to two dimensions");
    struct shmemi_members m;
    if (shmemi_team_open(image, call, team, &m) != 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    int wrong = nvshmemi_tile_wrong(image, call, src, dst, PARTS ? (uint64_t)m.n : 1, flag);
    if (wrong != NVSHMEMX_SUCCESS)
        return wrong;
    struct shmemi_extent e = nvshmemi_extent(src, dst, start, boundary);
    struct shmemi_tile t;
    shmemi_tile_of(&t, &e, sizeof(nvshmemi_element<SRC>));
    char *to = nvshmemi_start(dst.data());
    if (PARTS)
        to += nvshmemi_part(image, call, e.major, src, dst, m.me) *
              (int64_t)sizeof(nvshmemi_element<SRC>);
    shmemi_tile_check(image, call, image->job.me, &t, to, 1);
    shmemi_tile_push<SCOPE, 1>(image, &m, &t, to, nvshmemi_start(src.data()));
    return NVSHMEMX_SUCCESS;
}

/*
 * The sums of 16-bit floating-point numbers. Programs may have their operators and conversions
 * switched off.
 */
template <> struct shmemi_fold<shmemi_late_sum, __half> {
    typedef float sum;
    SHMEMI_D float first(__half v)
    {
        return __half2float(v);
    }
    SHMEMI_D float next(float s, __half v)
    {
        return s + __half2float(v);
    }
    SHMEMI_D __half last(float s)
    {
        return __float2half_rn(s);
    }
};
template <> struct shmemi_fold<shmemi_late_sum, __nv_bfloat16> {
    typedef float sum;
    SHMEMI_D float first(__nv_bfloat16 v)
    {
        return __bfloat162float(v);
    }
    SHMEMI_D float next(float s, __nv_bfloat16 v)
    {
        return s + __bfloat162float(v);
    }
    SHMEMI_D __nv_bfloat16 last(float s)
    {
        return __float2bfloat16_rn(s);
    }
};

/* The operation of a type: those of 16 bits have functions, others operators. */
template <class T, class OP, class LATE>
using nvshmemi_op = cuda::std::conditional_t<
    cuda::std::is_same<T, __half>::value || cuda::std::is_same<T, __nv_bfloat16>::value, LATE, OP>;

/* Combines the tiles src of all PEs of the team by an operation into dst: of each PE, which does so
 * itself (PULL) or gets the result of PE root (PUSH), or, with ROOTED, of PE root alone. */
template <class SCOPE, class OP, class LATE, nvshmemx::tile_coll_algo_t ALGO, int ROOTED, class SRC,
          class DST, class TUPLE>
SHMEMI_D int nvshmemi_tile_reduce(const struct shmemi_device_image *image, uint32_t call,
                                  nvshmem_team_t team, SRC src, DST dst, TUPLE start,
                                  TUPLE boundary, int root, uint64_t flag)
{
    static_assert(ALGO == nvshmemx::NVLS_ONE_SHOT_PULL_NBI ||
                      (ALGO == nvshmemx::NVLS_TWO_SHOT_PUSH_NBI && !ROOTED),
                  "tile_reduce: no such algorithm (take NVLS_ONE_SHOT_PULL_NBI or, with a root "
                  "and not in tile_rooted_reduce, NVLS_TWO_SHOT_PUSH_NBI; neither needs "
                  "multicast here)");
    typedef nvshmemi_element<SRC> T;
    typedef nvshmemi_op<T, OP, LATE> op;
    const int way = ROOTED                                     ? SHMEMI_TILE_ROOT
                    : ALGO == nvshmemx::NVLS_TWO_SHOT_PUSH_NBI ? SHMEMI_TILE_SPREAD
                                                               : SHMEMI_TILE_EACH;
    int wrong = nvshmemi_tile_wrong(image, call, src, dst, 1, flag);
    if (wrong != NVSHMEMX_SUCCESS)
        return wrong;
    struct shmemi_extent e = nvshmemi_extent(src, dst, start, boundary);
    struct shmemi_tile t;
    shmemi_tile_of(&t, &e, sizeof(T));
    if (shmemi_tile_reduce<SCOPE, shmemi_fold<op, T>, T, way>(
            image, call, team, &t, nvshmemi_start(dst.data()), nvshmemi_start(src.data()), root) !=
        0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    return NVSHMEMX_SUCCESS;
}

/* A tile_reduce without the argument root, which one algorithm needs: each PE makes the result. */
template <class SCOPE, class OP, class LATE, nvshmemx::tile_coll_algo_t ALGO, class SRC, class DST,
          class TUPLE>
SHMEMI_D int nvshmemi_tile_allreduce(const struct shmemi_device_image *image, uint32_t call,
                                     nvshmem_team_t team, SRC src, DST dst, TUPLE start,
                                     TUPLE boundary, uint64_t flag)
{
    static_assert(ALGO != nvshmemx::NVLS_TWO_SHOT_PUSH_NBI,
                  "tile_reduce: NVLS_TWO_SHOT_PUSH_NBI needs a root, before the flag");
    return nvshmemi_tile_reduce<SCOPE, OP, LATE, ALGO, 0>(image, call, team, src, dst, start,
                                                          boundary, -1, flag);
}

/*
 * Waits for the team's earlier collectives of this algorithm. After one that pushes it waits for
 * all PEs of the team, whose data is then in the caller's dst. After one that pulls only the
 * caller's dst is complete: other PEs may still read its src.
 */
template <class SCOPE, nvshmemx::tile_coll_algo_t ALGO>
SHMEMI_D int nvshmemi_tile_wait(const struct shmemi_device_image *image, uint32_t call,
                                nvshmem_team_t team, uint64_t flag)
{
    static_assert(ALGO == nvshmemx::NVLS_ONE_SHOT_PUSH_NBI ||
                      ALGO == nvshmemx::NVLS_ONE_SHOT_PULL_NBI ||
                      ALGO == nvshmemx::NVLS_TWO_SHOT_PUSH_NBI,
                  "tile_collective_wait: no collective has this algorithm (give that of the call "
                  "that is waited for)");
    if (flag != 0)
        shmemi_fault(image, SHMEMI_FAULT_FLAG, call, image->job.me, 0, flag);
    if (shmemi_tile_wait<SCOPE, ALGO != nvshmemx::NVLS_ONE_SHOT_PULL_NBI>(image, call, team) != 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    return NVSHMEMX_SUCCESS;
}

#endif

#endif
