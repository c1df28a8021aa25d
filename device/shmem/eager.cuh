/*
 * eager.cuh: eager transfers in kernels: tokens whose signals travel within their bytes, so that
 * nothing follows them (docs/guides/eager.md). shmemx.h describes the calls; all threads of a warp
 * or a block make a call of shmemx_eager_<name>_warp or shmemx_eager_<name>_block together.
 */
#ifndef SHMEM_EAGER_CUH
#define SHMEM_EAGER_CUH

#include "shmem.cuh"

#include "eager_parts.h"

#include "zz_eager.h"

#ifdef SHMEMI_KERNEL
/*
 * The two functions below are templates, for words of any type. The constant in each body is the
 * number by which a report names the public function, a hash of its name (spec.KernelTemplates in
 * capi/spec).
 */

/*
 * Returns the word of type T at byte `at` of a token that has arrived in a slot. A word has 4 or 8
 * bytes and is aligned. The caller has waited for the token, or has synchronised with a thread that
 * has.
 */
template <class T>
SHMEMI_D T shmemx_eager_load(const shmemx_eager_t *eager, uint32_t slot, uint32_t at)
{
    return shmemi_eager_load<T>(SHMEMI_JOB, 0xfb166467u, eager, slot, at);
}

/*
 * Stores the word at byte `at` of a token in a slot of PE pe. When all words are stored, the
 * threads that stored them call shmemx_eager_signal, or its form for a warp or block, together.
 */
template <class T>
SHMEMI_D void shmemx_eager_store(const shmemx_eager_t *eager, uint32_t slot, uint32_t at, T value,
                                 uint32_t epoch, int pe)
{
    shmemi_eager_store<T>(SHMEMI_JOB, 0x9be14348u, eager, slot, at, value, epoch, pe);
}
#endif

#endif
