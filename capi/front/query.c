/*
 * query.c: the public functions that query the job.
 */
#include "query.h"

#include "address.h"
#include "error.h"
#include "failure.h"

#include <stdio.h>

int shmemi_my_pe(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    return shmemi_state.my_pe;
}

int shmemi_n_pes(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    return (int)shmemi_state.n_pes;
}

void shmemi_query_thread(int *provided, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    *provided = shmemi_state.thread_level;
}

void shmemi_query_initialized(int *initialized, const char *call)
{
    (void)call;
    *initialized = shmemi_state.n_pes > 0;
}

int shmemi_pe_accessible(int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    return (uint32_t)pe < shmemi_state.n_pes && !shmemi_is_lost(pe);
}

/* Reports whether a put and a later signal to a PE arrive in program order without a fence. Within
 * a node a thread's stores become visible in program order, and a signal is a store with release.
 * With a GPU, bytes may be under way by a copy that the signal does not wait for. */
int shmemi_put_ordered(int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    shmemi_check_pe(pe, call);
    if (s->near_base[pe] != NULL)
        return !s->gpu;
    return s->net_ordered != 0;
}

int shmemi_addr_accessible(const void *addr, int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    return (uint32_t)pe < shmemi_state.n_pes && !shmemi_is_lost(pe) && shmemi_symmetric(addr, 1);
}

/* The address at which this process reaches the memory of PE pe at dest, or NULL; in GPU memory it
 * is an address for kernels. */
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

void shmemi_info_get_version(int *major, int *minor, const char *call)
{
    (void)call;
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

void shmemi_info_get_name(char *name, const char *call)
{
    (void)call;
    snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING);
}

void shmemi_pcontrol(int level, const char *call)
{
    (void)level;
    (void)call;
}
