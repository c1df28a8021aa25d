/*
 * redirect_names.c: functions that programs call and that only Open MPI's OSHMEM has, each with the
 * function of libshmem that does the same with the same arguments.
 *
 * Modes see the functions of the first list: bitwise atomics on signed integers, whose bits are
 * those of unsigned ones, and the family shmemx_ of Open MPI's shmemx.h. The functions below it are
 * from Open MPI 5 and its shmemx.h. With mode redirect they call the shim's function with
 * libshmem's name; without it they call the library behind the shim, and modes do not see the call.
 *
 * my_pe, num_pes and globalexit of its shmem-compat.h are not here: other libraries have functions
 * of these names, which the shim would replace. A program that calls them is refused.
 */
#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* clang-format off */
const struct redirect_name redirect_names[] = {
    {"shmem_ctx_int_atomic_and", "shmem_ctx_uint_atomic_and"},
    {"shmem_ctx_int_atomic_fetch_and", "shmem_ctx_uint_atomic_fetch_and"},
    {"shmem_ctx_int_atomic_fetch_or", "shmem_ctx_uint_atomic_fetch_or"},
    {"shmem_ctx_int_atomic_fetch_xor", "shmem_ctx_uint_atomic_fetch_xor"},
    {"shmem_ctx_int_atomic_or", "shmem_ctx_uint_atomic_or"},
    {"shmem_ctx_int_atomic_xor", "shmem_ctx_uint_atomic_xor"},
    {"shmem_ctx_long_atomic_and", "shmem_ctx_ulong_atomic_and"},
    {"shmem_ctx_long_atomic_fetch_and", "shmem_ctx_ulong_atomic_fetch_and"},
    {"shmem_ctx_long_atomic_fetch_or", "shmem_ctx_ulong_atomic_fetch_or"},
    {"shmem_ctx_long_atomic_fetch_xor", "shmem_ctx_ulong_atomic_fetch_xor"},
    {"shmem_ctx_long_atomic_or", "shmem_ctx_ulong_atomic_or"},
    {"shmem_ctx_long_atomic_xor", "shmem_ctx_ulong_atomic_xor"},
    {"shmem_ctx_longlong_atomic_and", "shmem_ctx_ulonglong_atomic_and"},
    {"shmem_ctx_longlong_atomic_fetch_and", "shmem_ctx_ulonglong_atomic_fetch_and"},
    {"shmem_ctx_longlong_atomic_fetch_or", "shmem_ctx_ulonglong_atomic_fetch_or"},
    {"shmem_ctx_longlong_atomic_fetch_xor", "shmem_ctx_ulonglong_atomic_fetch_xor"},
    {"shmem_ctx_longlong_atomic_or", "shmem_ctx_ulonglong_atomic_or"},
    {"shmem_ctx_longlong_atomic_xor", "shmem_ctx_ulonglong_atomic_xor"},
    {"shmem_int_atomic_and", "shmem_uint_atomic_and"},
    {"shmem_int_atomic_fetch_and", "shmem_uint_atomic_fetch_and"},
    {"shmem_int_atomic_fetch_or", "shmem_uint_atomic_fetch_or"},
    {"shmem_int_atomic_fetch_xor", "shmem_uint_atomic_fetch_xor"},
    {"shmem_int_atomic_or", "shmem_uint_atomic_or"},
    {"shmem_int_atomic_xor", "shmem_uint_atomic_xor"},
    {"shmem_long_atomic_and", "shmem_ulong_atomic_and"},
    {"shmem_long_atomic_fetch_and", "shmem_ulong_atomic_fetch_and"},
    {"shmem_long_atomic_fetch_or", "shmem_ulong_atomic_fetch_or"},
    {"shmem_long_atomic_fetch_xor", "shmem_ulong_atomic_fetch_xor"},
    {"shmem_long_atomic_or", "shmem_ulong_atomic_or"},
    {"shmem_long_atomic_xor", "shmem_ulong_atomic_xor"},
    {"shmem_longlong_atomic_and", "shmem_ulonglong_atomic_and"},
    {"shmem_longlong_atomic_fetch_and", "shmem_ulonglong_atomic_fetch_and"},
    {"shmem_longlong_atomic_fetch_or", "shmem_ulonglong_atomic_fetch_or"},
    {"shmem_longlong_atomic_fetch_xor", "shmem_ulonglong_atomic_fetch_xor"},
    {"shmem_longlong_atomic_or", "shmem_ulonglong_atomic_or"},
    {"shmem_longlong_atomic_xor", "shmem_ulonglong_atomic_xor"},
    {"shmemx_int16_and_to_all", "shmem_short_and_to_all"},
    {"shmemx_int16_g", "shmem_int16_g"},
    {"shmemx_int16_max_to_all", "shmem_short_max_to_all"},
    {"shmemx_int16_min_to_all", "shmem_short_min_to_all"},
    {"shmemx_int16_or_to_all", "shmem_short_or_to_all"},
    {"shmemx_int16_p", "shmem_int16_p"},
    {"shmemx_int16_prod_to_all", "shmem_short_prod_to_all"},
    {"shmemx_int16_sum_to_all", "shmem_short_sum_to_all"},
    {"shmemx_int16_xor_to_all", "shmem_short_xor_to_all"},
    {"shmemx_int32_add", "shmem_int32_add"},
    {"shmemx_int32_and_to_all", "shmem_int_and_to_all"},
    {"shmemx_int32_atomic_and", "shmem_int32_atomic_and"},
    {"shmemx_int32_atomic_fetch_and", "shmem_int32_atomic_fetch_and"},
    {"shmemx_int32_atomic_fetch_or", "shmem_int32_atomic_fetch_or"},
    {"shmemx_int32_atomic_fetch_xor", "shmem_int32_atomic_fetch_xor"},
    {"shmemx_int32_atomic_or", "shmem_int32_atomic_or"},
    {"shmemx_int32_atomic_xor", "shmem_int32_atomic_xor"},
    {"shmemx_int32_cswap", "shmem_int32_cswap"},
    {"shmemx_int32_fadd", "shmem_int32_fadd"},
    {"shmemx_int32_fetch", "shmem_int32_fetch"},
    {"shmemx_int32_finc", "shmem_int32_finc"},
    {"shmemx_int32_g", "shmem_int32_g"},
    {"shmemx_int32_inc", "shmem_int32_inc"},
    {"shmemx_int32_max_to_all", "shmem_int_max_to_all"},
    {"shmemx_int32_min_to_all", "shmem_int_min_to_all"},
    {"shmemx_int32_or_to_all", "shmem_int_or_to_all"},
    {"shmemx_int32_p", "shmem_int32_p"},
    {"shmemx_int32_prod_to_all", "shmem_int_prod_to_all"},
    {"shmemx_int32_set", "shmem_int32_set"},
    {"shmemx_int32_sum_to_all", "shmem_int_sum_to_all"},
    {"shmemx_int32_swap", "shmem_int32_swap"},
    {"shmemx_int32_wait", "shmem_int32_wait"},
    {"shmemx_int32_wait_until", "shmem_int32_wait_until"},
    {"shmemx_int32_xor_to_all", "shmem_int_xor_to_all"},
    {"shmemx_int64_add", "shmem_int64_add"},
    {"shmemx_int64_and_to_all", "shmem_long_and_to_all"},
    {"shmemx_int64_atomic_and", "shmem_int64_atomic_and"},
    {"shmemx_int64_atomic_fetch_and", "shmem_int64_atomic_fetch_and"},
    {"shmemx_int64_atomic_fetch_or", "shmem_int64_atomic_fetch_or"},
    {"shmemx_int64_atomic_fetch_xor", "shmem_int64_atomic_fetch_xor"},
    {"shmemx_int64_atomic_or", "shmem_int64_atomic_or"},
    {"shmemx_int64_atomic_xor", "shmem_int64_atomic_xor"},
    {"shmemx_int64_cswap", "shmem_int64_cswap"},
    {"shmemx_int64_fadd", "shmem_int64_fadd"},
    {"shmemx_int64_fetch", "shmem_int64_fetch"},
    {"shmemx_int64_finc", "shmem_int64_finc"},
    {"shmemx_int64_g", "shmem_int64_g"},
    {"shmemx_int64_inc", "shmem_int64_inc"},
    {"shmemx_int64_max_to_all", "shmem_long_max_to_all"},
    {"shmemx_int64_min_to_all", "shmem_long_min_to_all"},
    {"shmemx_int64_or_to_all", "shmem_long_or_to_all"},
    {"shmemx_int64_p", "shmem_int64_p"},
    {"shmemx_int64_prod_to_all", "shmem_long_prod_to_all"},
    {"shmemx_int64_set", "shmem_int64_set"},
    {"shmemx_int64_sum_to_all", "shmem_long_sum_to_all"},
    {"shmemx_int64_swap", "shmem_int64_swap"},
    {"shmemx_int64_wait", "shmem_int64_wait"},
    {"shmemx_int64_wait_until", "shmem_int64_wait_until"},
    {"shmemx_int64_xor_to_all", "shmem_long_xor_to_all"},
    {"shmemx_uint32_atomic_and", "shmem_uint32_atomic_and"},
    {"shmemx_uint32_atomic_fetch_and", "shmem_uint32_atomic_fetch_and"},
    {"shmemx_uint32_atomic_fetch_or", "shmem_uint32_atomic_fetch_or"},
    {"shmemx_uint32_atomic_fetch_xor", "shmem_uint32_atomic_fetch_xor"},
    {"shmemx_uint32_atomic_or", "shmem_uint32_atomic_or"},
    {"shmemx_uint32_atomic_xor", "shmem_uint32_atomic_xor"},
    {"shmemx_uint64_atomic_and", "shmem_uint64_atomic_and"},
    {"shmemx_uint64_atomic_fetch_and", "shmem_uint64_atomic_fetch_and"},
    {"shmemx_uint64_atomic_fetch_or", "shmem_uint64_atomic_fetch_or"},
    {"shmemx_uint64_atomic_fetch_xor", "shmem_uint64_atomic_fetch_xor"},
    {"shmemx_uint64_atomic_or", "shmem_uint64_atomic_or"},
    {"shmemx_uint64_atomic_xor", "shmem_uint64_atomic_xor"},
    {NULL, NULL},
};
/* clang-format on */

/* Functions of the shim itself (zz_shmem.c). */
void shmem_sync(int start, int log_stride, int size, uintptr_t sync);
uintptr_t shmem_malloc(uintptr_t size);
int shmem_uint_and_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);
int shmem_uint_or_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);
int shmem_uint_xor_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);
int shmem_ulonglong_and_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);
int shmem_ulonglong_or_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);
int shmem_ulonglong_xor_reduce(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n);

/* Returns the function of this name in the library behind the shim. It is searched for once and
 * stored in *found. Ends the process if the library has none. */
static void *next(void **found, const char *name)
{
    void *f = __atomic_load_n(found, __ATOMIC_ACQUIRE);
    if (f)
        return f;
    f = dlsym(RTLD_NEXT, name);
    if (!f) { /* prints the message of the loader, and exits with its status */
        fprintf(stderr, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name,
                name);
        _exit(127);
    }
    __atomic_store_n(found, f, __ATOMIC_RELEASE);
    return f;
}

/* The function to call: `ours`, the shim's, with mode redirect, and without it `theirs`, of the
 * same type, in the library behind the shim. */
#define CHOSEN(theirs, ours)                                                                       \
    ({                                                                                             \
        static void *found;                                                                        \
        redirect_on() ? ours : (__typeof__(&ours))next(&found, #theirs);                           \
    })

/* Defines the sync of an active set, under the name that some libraries have for it. */
PRELOAD_PUBLIC void shmem_sync_deprecated(int start, int log_stride, int size, uintptr_t sync)
{
    CHOSEN(shmem_sync_deprecated, shmem_sync)(start, log_stride, size, sync);
}

/* Defines shmemx_malloc_with_hint. In mode redirect it calls shmem_malloc and ignores the hint:
 * libshmem's allocator takes no hints, and a hint affects only speed. Otherwise it calls the
 * library behind the shim. */
PRELOAD_PUBLIC uintptr_t shmemx_malloc_with_hint(uintptr_t size, long hint)
{
    static void *found;
    if (redirect_on())
        return shmem_malloc(size);
    return ((uintptr_t(*)(uintptr_t, long))next(&found, "shmemx_malloc_with_hint"))(size, hint);
}

/* Defines a reduction of Open MPI 5, `theirs`, by the shim's function of the same arguments. The
 * handle of the team is a pointer in the program; mode redirect translates it in `ours`. */
#define REDUCE(theirs, ours)                                                                       \
    PRELOAD_PUBLIC int theirs(uintptr_t team, uintptr_t dest, uintptr_t source, uintptr_t n)       \
    {                                                                                              \
        return CHOSEN(theirs, ours)(team, dest, source, n);                                        \
    }

REDUCE(shmem_int_and_reduce, shmem_uint_and_reduce)
REDUCE(shmem_int_or_reduce, shmem_uint_or_reduce)
REDUCE(shmem_int_xor_reduce, shmem_uint_xor_reduce)
REDUCE(shmem_longlong_and_reduce, shmem_ulonglong_and_reduce)
REDUCE(shmem_longlong_or_reduce, shmem_ulonglong_or_reduce)
REDUCE(shmem_longlong_xor_reduce, shmem_ulonglong_xor_reduce)

/*
 * NVIDIA's device archive calls functions of NVIDIA's host library that no program calls itself.
 * Kernels of the archive read structures that the shim's target does not fill. Modes do not know
 * this call, so in mode redirect it is refused here; mode_redirect.c refuses the others.
 */
PRELOAD_PUBLIC int nvshmemid_init_status(void)
{
    static void *found;
    if (redirect_on())
        redirect_refuse_device("nvshmemid_init_status");
    return ((int (*)(void))next(&found, "nvshmemid_init_status"))();
}
