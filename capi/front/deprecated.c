/*
 * deprecated.c: start_pes, and the controls of caches.
 */
#include "deprecated.h"

#include "error.h"
#include "lifecycle.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of start_pes */

/* Implements start_pes: init, with finalize at exit; the argument has no meaning. The mutex lets
 * threads call it at once: the second one finds the library initialised. */
void shmemi_start_pes(int npes, const char *call)
{
    (void)npes;
    pthread_mutex_lock(&mutex);
    if (shmemi_state.n_pes == 0)
        shmemi_init(call);
    pthread_mutex_unlock(&mutex);
    shmemi_finalize_at_exit(call);
}

/* Implements the calls for caches (shmem_set_cache_inv and others) by a fence of memory: caches are
 * coherent. */
void shmemi_coherent(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    shmemi_fence_all();
}
