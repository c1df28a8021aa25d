/*
 * library.c: the shim's own calls of the library behind it.
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>

/* Finds one of three functions, given by their call numbers, by the interface to which f's call
 * belongs: nvshmem for NVSHMEM; for OpenSHMEM shmem, or old if the library has only the names of
 * OpenSHMEM 1.0. Returns NULL if the library has none of these. */
static void *find_for_interface(const struct preload_frame *f, unsigned shmem, unsigned nvshmem,
                                unsigned old)
{
    if (preload_calls[f->number].flags & PRELOAD_NVSHMEM)
        return preload_find(nvshmem, f->caller);
    void *found = preload_find(shmem, f->caller);
    return found ? found : preload_find(old, f->caller);
}

/* Queries the library that the program calls for this PE's number and the number of PEs. Returns
 * false if it lacks the functions. */
bool preload_library_pe(const struct preload_frame *f, int *pe, int *npes)
{
    int (*my_pe)(void) =
        find_for_interface(f, PRELOAD_shmem_my_pe, PRELOAD_nvshmem_my_pe, PRELOAD__my_pe);
    int (*n_pes)(void) =
        find_for_interface(f, PRELOAD_shmem_n_pes, PRELOAD_nvshmem_n_pes, PRELOAD__num_pes);
    if (!my_pe || !n_pes)
        return false;
    preload_enter();
    *pe = my_pe();
    *npes = n_pes();
    preload_leave();
    return true;
}

/* Reports whether the handles of the library behind the shim are numbers of 32 bits. */
bool preload_library_numbers(const struct preload_frame *f)
{
    /* Only libshmem has the functions with a notification. */
    return preload_calls[f->number].flags & PRELOAD_NVSHMEM ||
           preload_find(PRELOAD_shmemx_notify_wait, f->caller);
}

/* Returns the path of the library that contains a function, for messages. */
const char *preload_library_file(const void *function)
{
    Dl_info at;
    return dladdr(function, &at) && at.dli_fname ? at.dli_fname : "unknown";
}
