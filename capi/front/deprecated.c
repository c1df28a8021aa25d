/*
 * deprecated.c: start_pes, and the controls of caches.
 */
#define _GNU_SOURCE
#include "deprecated.h"

#include "remote.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/*
 * A PE that ends with an error does not meet the others: they may never come, and
 * would not be told while it waits for them. The launcher tells them.
 */
static void finalize(int status, void *call)
{
    if (status == 0 && shmemi_state.n_pes > 0)
        shmemi_finalize(call);
}

void shmemi_start_pes(int npes, const char *call)
{
    static bool registered;
    (void)npes;
    pthread_mutex_lock(&mutex);
    if (shmemi_state.n_pes == 0)
        shmemi_init(call);
    if (!registered && on_exit(finalize, (void *)call) != 0)
        shmemi_abort(call, "use shmem_init and shmem_finalize",
                     "no room to have finalize called at the end");
    registered = true;
    pthread_mutex_unlock(&mutex);
}

void shmemi_coherent(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
