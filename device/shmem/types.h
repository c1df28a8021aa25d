/*
 * types.h: the types and limits of the C library that the device headers use. NVRTC has no C
 * library. There they come from CUDA's own headers if those are in its search path; otherwise this
 * header defines them.
 */
#ifndef SHMEM_TYPES_H
#define SHMEM_TYPES_H

#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <stdint.h>
#elif __cplusplus >= 201703L && __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#else
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#endif

#ifdef __CUDACC_RTC__
#ifndef UINT32_MAX
#define UINT32_MAX 0xffffffffu
#endif
#ifndef INT32_MAX
#define INT32_MAX 0x7fffffff
#endif
#ifndef INT32_MIN
#define INT32_MIN (-0x7fffffff - 1)
#endif
#ifndef NULL
#define NULL 0
#endif
#endif

/* Defined where functions that only kernels can run are declared. */
#ifdef __CUDACC__
#define SHMEMI_KERNEL 1
#endif

#endif
