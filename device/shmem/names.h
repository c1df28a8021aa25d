/*
 * names.h: how the generated headers define a name.
 *
 * nvcc compiles a file once for the host and once for each GPU. A name that libshmem.so also has is
 * declared for both sides: when nvcc compiles for a GPU it has a body, when nvcc compiles for the
 * host it has none, so that host code calls the library's symbol. A name of kernels alone has a
 * body for the GPU only; the host needs just its declaration, which uses no other type or function
 * and costs little to compile.
 *
 * SHMEMI_SHARED begins a name of both sides, and SHMEMI_DO has its body. SHMEMI_ONLY begins a name
 * of kernels alone, and SHMEMI_RUN has its body, for a function that returns `result`. The body is
 * one expression.
 */
#ifndef SHMEM_NAMES_H
#define SHMEM_NAMES_H

#include "context.h"

#ifdef SHMEMI_KERNEL
#ifdef __CUDA_ARCH__
#define SHMEMI_SHARED extern "C" __host__ __device__ __forceinline__
#define SHMEMI_ONLY static __device__ __forceinline__
#define SHMEMI_DO(...)                                                                             \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define SHMEMI_RUN(result, ...)                                                                    \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#else
/* Returns a value of type T, as the result of a function of kernels where nvcc compiles it for the
 * host, which never runs it. */
template <class T> static __device__ T shmemi_nothing()
{
    return T();
}
#define SHMEMI_SHARED extern "C" __host__ __device__
#define SHMEMI_ONLY static __device__ __forceinline__
#define SHMEMI_DO(...) ;
#define SHMEMI_RUN(result, ...)                                                                    \
    {                                                                                              \
        return shmemi_nothing<result>();                                                           \
    }
#endif

/* The job's state, in the calling translation unit's constant memory. */
#define SHMEMI_JOB (&shmemi_here)

/*
 * The type H, looked up only where a template is instantiated: a 16-bit floating-point type may be
 * incomplete until the program includes its header.
 */
struct __half;
struct __nv_bfloat16;
template <class H> struct shmemi_late {
    typedef H type;
};

#endif

#endif
