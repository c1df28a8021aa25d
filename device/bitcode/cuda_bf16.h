/*
 * cuda_bf16.h: what the device headers use of CUDA's header of this name, for clang. A value is
 * passed and returned as __bf16, which the compilers of kernels call bfloat. Neither clang 16 nor
 * GPUs before sm_80 compute in that type, so these functions compute in float.
 */
#ifndef SHMEM_BITCODE_CUDA_BF16_H
#define SHMEM_BITCODE_CUDA_BF16_H

struct __nv_bfloat16 {
    unsigned short bits;

    __nv_bfloat16() = default;
    __device__ __forceinline__ __nv_bfloat16(__bf16 v) : bits(__builtin_bit_cast(unsigned short, v))
    {
    }
    __device__ __forceinline__ operator __bf16() const
    {
        return __builtin_bit_cast(__bf16, bits);
    }
};

static __device__ __forceinline__ float __bfloat162float(__nv_bfloat16 v)
{
    return __builtin_bit_cast(float, (unsigned)v.bits << 16);
}
/* Rounds to the nearest bfloat16, or to the even one if two are equally near: adds half of the last
 * place that stays, less 1 if its bit is 0, and cuts the rest. NaN stays NaN, as 0x7fff. */
static __device__ __forceinline__ __nv_bfloat16 __float2bfloat16(float v)
{
    unsigned bits = __builtin_bit_cast(unsigned, v);
    __nv_bfloat16 out;
    out.bits = (unsigned short)(v != v ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return out;
}
static __device__ __forceinline__ __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __float2bfloat16(__bfloat162float(a) + __bfloat162float(b));
}
static __device__ __forceinline__ __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __float2bfloat16(__bfloat162float(a) * __bfloat162float(b));
}
static __device__ __forceinline__ bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __bfloat162float(a) < __bfloat162float(b);
}
static __device__ __forceinline__ bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __bfloat162float(a) > __bfloat162float(b);
}

#endif
