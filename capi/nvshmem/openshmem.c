/*
 * openshmem.c: NVSHMEMX_INIT_WITH_SHMEM: starts a job with the PEs of another OpenSHMEM library,
 * which the program has initialised.
 */
#define _GNU_SOURCE
#include "own.h"

#include <shmemx.h>

#include <dlfcn.h>
#include <strings.h>

/* The functions of the other library that this file calls; every version of OpenSHMEM has them. */
struct other {
    int (*my_pe)(void);
    int (*n_pes)(void);
    void *(*malloc_)(size_t size);
    void (*free_)(void *ptr);
    void (*getmem)(void *dest, const void *source, size_t nelems, int pe);
    void (*barrier_all)(void);
};

/* Stores in o the functions of the OpenSHMEM library that is loaded in the process. Returns NULL,
 * or the name of the first function that the process lacks. */
static const char *find_functions(struct other *o)
{
    const struct {
        const char *name;
        void **at;
    } each[] = {
        {"shmem_my_pe", (void **)&o->my_pe},    {"shmem_n_pes", (void **)&o->n_pes},
        {"shmem_malloc", (void **)&o->malloc_}, {"shmem_free", (void **)&o->free_},
        {"shmem_getmem", (void **)&o->getmem},  {"shmem_barrier_all", (void **)&o->barrier_all},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        *each[i].at = dlsym(RTLD_DEFAULT, each[i].name);
        if (*each[i].at == NULL)
            return each[i].name;
    }
    return NULL;
}

/* Reports whether NVSHMEM_BOOTSTRAP=SHMEM asks for a job with the PEs of another OpenSHMEM library,
 * and there is no job yet. SHMEM_BOOTSTRAP, if it is set, has precedence. It reads the environment
 * itself: the core, which reads settings, is not loaded yet. */
bool nvshmemi_joins_openshmem(void)
{
    const char *ours = getenv("SHMEM_BOOTSTRAP"), *theirs = getenv("NVSHMEM_BOOTSTRAP");
    return (ours == NULL || *ours == '\0') && theirs != NULL && strcasecmp(theirs, "SHMEM") == 0 &&
           nvshmemi_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* Starts a job with the PEs of the program's OpenSHMEM, or, if that is libshmem.so itself, counts
 * one more init: PE 0 makes a unique ID, and the others read it from its symmetric heap. All PEs
 * call it. Returns 0, or an error that has been printed. */
int nvshmemi_init_with_shmem(const char *call)
{
    struct other o;
    const char *missing = find_functions(&o);
    if (missing != NULL) {
        fprintf(
            stderr,
            "shmem: %s: NVSHMEMX_INIT_WITH_SHMEM: the program has no OpenSHMEM with %s (link it, "
            "and call shmem_init first)\n",
            call, missing);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    /* The program's OpenSHMEM is libshmem.so itself: its job is this one. */
    if ((void *)(uintptr_t)o.my_pe == nvshmemi_below("shmem_my_pe"))
        return shmemx_init_attr(/* flags */ 0, NULL);

    int me = o.my_pe(), n = o.n_pes(), status = 0;
    struct {
        int status;
        shmemx_uniqueid_t id;
    } *sent = o.malloc_(sizeof *sent), from_pe_0;
    if (sent == NULL) {
        fprintf(stderr, "shmem: %s: the program's OpenSHMEM has no %zu bytes left\n", call,
                sizeof *sent);
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    }
    if (me == 0)
        sent->status = shmemx_get_uniqueid(&sent->id);
    o.barrier_all(); /* PE 0 has stored it */
    o.getmem(&from_pe_0, sent, sizeof from_pe_0, /* pe */ 0);
    o.barrier_all(); /* all have read it */
    o.free_(sent);
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    if (from_pe_0.status != 0 || shmemx_set_attr_uniqueid_args(me, n, &from_pe_0.id, &attr) != 0)
        status = NVSHMEMX_ERROR_INTERNAL; /* PE 0, or this PE for its arguments, has printed why */
    return status != 0 ? status : shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr);
}
