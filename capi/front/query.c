/*
 * query.c: the public functions that query the job.
 */
#include "query.h"

#include "address.h"
#include "error.h"
#include "failure.h"

#include <stdio.h>

/* Implements shmem_my_pe: returns this PE's number. Outside a job it ends the program, as do the
 * functions below that call shmemi_refuse_uninitialised. */
int shmemi_my_pe(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    return shmemi_state.my_pe;
}

/* Implements shmem_n_pes: returns the number of PEs of the job. */
int shmemi_n_pes(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    return (int)shmemi_state.n_pes;
}

/* Implements shmem_query_thread: stores the thread level that init has granted. */
void shmemi_query_thread(int *provided, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    *provided = shmemi_state.thread_level;
}

/* Implements shmem_query_initialized, which may be called at any time: stores 1 in a job, else 0.
 */
void shmemi_query_initialized(int *initialized, const char *call)
{
    (void)call;
    *initialized = shmemi_state.n_pes > 0;
}

/* Implements shmem_pe_accessible: returns 1 if PE pe exists and is not lost, else 0. */
int shmemi_pe_accessible(int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    return (uint32_t)pe < shmemi_state.n_pes && !shmemi_is_lost(pe);
}

/* Implements shmemx_put_ordered: reports whether a put and a later signal to a PE arrive in program
 * order without a fence. Within a node a thread's stores become visible in program order, and a
 * signal is a store with release. With a GPU, bytes may be under way by a copy that the signal does
 * not wait for. */
int shmemi_put_ordered(int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    shmemi_check_pe(pe, call);
    if (s->near_base[pe] != NULL)
        return !s->gpu;
    return s->net_ordered != 0;
}

/* Implements shmem_addr_accessible: returns 1 if addr is symmetric, and PE pe exists and is not
 * lost, else 0. */
int shmemi_addr_accessible(const void *addr, int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    return (uint32_t)pe < shmemi_state.n_pes && !shmemi_is_lost(pe) && shmemi_symmetric(addr, 1);
}

/* Implements shmem_ptr: returns the address at which this process reaches the memory of PE pe at
 * dest, or NULL; in GPU memory it is an address for kernels. Where kernels cannot use mapped_base
 * of other PEs (p2p is 0), only this PE's own is returned. */
void *shmemi_ptr(const void *dest, int pe, const char *call)
{
    if (!shmemi_addr_accessible(dest, pe, call))
        return NULL;
    const struct shmemi_state *s = &shmemi_state;
    int64_t offset = shmemi_offset(dest);
    if (offset < 0)
        return pe == s->my_pe ? (void *)dest : shmemi_near(dest, pe);
    char *base = s->near_base[pe];
    if (s->gpu && (s->p2p || pe == s->my_pe))
        base = s->mapped_base[pe];
    return base ? base + offset : NULL;
}

/* Implements shmem_info_get_version: the version of the specification. */
void shmemi_info_get_version(int *major, int *minor, const char *call)
{
    (void)call;
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

/* Implements shmem_info_get_name: name has room for SHMEM_MAX_NAME_LEN bytes. */
void shmemi_info_get_name(char *name, const char *call)
{
    (void)call;
    snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING);
}

/* Implements shmem_pcontrol, which has no effect without a profiling library. */
void shmemi_pcontrol(int level, const char *call)
{
    (void)level;
    (void)call;
}
