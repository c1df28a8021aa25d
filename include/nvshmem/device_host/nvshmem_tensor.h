/*
 * device_host/nvshmem_tensor.h: how programs describe a tile: a pointer, a shape and strides, in
 * elements. It needs C++17, and the tuples of CUDA's C++ library, which come with nvcc.
 */
#ifndef NVSHMEM_DEVICE_HOST_NVSHMEM_TENSOR_H
#define NVSHMEM_DEVICE_HOST_NVSHMEM_TENSOR_H

#include "../host/nvshmem_api.h"

#if defined(__cplusplus) && __cplusplus >= 201703L
#if __has_include(<cuda/std/tuple>)
#define NVSHMEMI_TENSORS 1
#endif
#endif

#ifdef NVSHMEMI_TENSORS
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#ifdef __CUDACC__
#define NVSHMEMI_BOTH __host__ __device__
#else
#define NVSHMEMI_BOTH
#endif

/* A number that is part of its type, as a size or a stride. */
template <int v> struct ConstInt : cuda::std::integral_constant<int, v> {
    NVSHMEMI_BOTH constexpr operator int() const
    {
        return v;
    }
};

namespace nvshmemx
{

template <class... Sizes> using shape = cuda::std::tuple<Sizes...>;
template <class... Steps> using stride = cuda::std::tuple<Steps...>;

template <class... Sizes> NVSHMEMI_BOTH constexpr shape<Sizes...> make_shape(const Sizes &...sizes)
{
    return shape<Sizes...>(sizes...);
}

template <class... Steps>
NVSHMEMI_BOTH constexpr stride<Steps...> make_stride(const Steps &...steps)
{
    return stride<Steps...>(steps...);
}

/* A pair; members that are known from their types take no memory. */
template <class Shape, class Stride> struct Layout : private cuda::std::tuple<Shape, Stride> {
    NVSHMEMI_BOTH constexpr Layout(const Shape &sizes = {}, const Stride &steps = {})
        : cuda::std::tuple<Shape, Stride>(sizes, steps)
    {
    }
    NVSHMEMI_BOTH constexpr Shape shape() const
    {
        return cuda::std::get<0>(pair());
    }
    NVSHMEMI_BOTH constexpr Stride stride() const
    {
        return cuda::std::get<1>(pair());
    }

  private:
    NVSHMEMI_BOTH constexpr const cuda::std::tuple<Shape, Stride> &pair() const
    {
        return *this;
    }
};

template <class Shape, class Stride>
NVSHMEMI_BOTH constexpr Layout<Shape, Stride> make_layout(const Shape &sizes, const Stride &steps)
{
    return Layout<Shape, Stride>(sizes, steps);
}

template <typename T, class Layout> struct Tensor {
    using value_type = T;
    using layout_type = Layout;
    T *_data;
    const Layout _layout;

    NVSHMEMI_BOTH constexpr Tensor(T *data, Layout layout) : _data(data), _layout(layout)
    {
    }
    NVSHMEMI_BOTH Tensor(Layout layout) : _data(nullptr), _layout(layout)
    {
    }
    NVSHMEMI_BOTH constexpr Layout layout() const
    {
        return _layout;
    }
    NVSHMEMI_BOTH T *data()
    {
        return _data;
    }
    NVSHMEMI_BOTH constexpr auto shape() const
    {
        return _layout.shape();
    }
    NVSHMEMI_BOTH constexpr auto stride() const
    {
        return _layout.stride();
    }
};

/*
 * The PEs that move the data of a collective: each PE pushes its data to all, or pulls the data
 * that it needs from all, or one PE does both. Multicast is not used: the data moves by loads and
 * stores, or through the ring.
 */
typedef enum {
    NVLS_ONE_SHOT_PUSH_NBI = 0,
    NVLS_ONE_SHOT_PULL_NBI = 1,
    NVLS_TWO_SHOT_PUSH_NBI = 2,
    NVLS_TWO_SHOT_PULL_NBI = 3,
    NVSHMEMI_TILE_COLL_ALGO_SENTINEL = INT32_MAX
} tile_coll_algo_t;

/* The library chooses the route to the PE itself, whatever the program gives here. */
typedef enum {
    PEER_PUSH_NBI = 0,
    PEER_PULL_NBI = 0,
    REMOTE_PUSH_NBI = 1,
    REMOTE_PULL_NBI = 1,
    NVSHMEMI_TILE_ALGO_SENTINEL = INT32_MAX
} tile_algo_t;

} // namespace nvshmemx
#endif

#endif
