/*
 * cuda_fp16.h: what the device headers use of CUDA's header of this name, for clang. A value is
 * passed and returned as __fp16, which the compilers of kernels call half.
 */
#ifndef SHMEM_BITCODE_CUDA_FP16_H
#define SHMEM_BITCODE_CUDA_FP16_H

struct __half {
    __fp16 value;

    __half() = default;
    __device__ __forceinline__ __half(__fp16 v) : value(v)
    {
    }
    __device__ __forceinline__ operator __fp16() const
    {
        return value;
    }
};

static __device__ __forceinline__ __half __hadd(__half a, __half b)
{
    return (__fp16)(a.value + b.value);
}
static __device__ __forceinline__ __half __hmul(__half a, __half b)
{
    return (__fp16)(a.value * b.value);
}
static __device__ __forceinline__ bool __hlt(__half a, __half b)
{
    return a.value < b.value;
}
static __device__ __forceinline__ bool __hgt(__half a, __half b)
{
    return a.value > b.value;
}

#endif
