/*
 * device.c: the function by which device code, and threads of the host that run it, get the state
 * that they need to use the rings: queues through which they submit operations to the proxy, a
 * thread of this process.
 */
#include "error.h"

#include <shmem/state.h>

#include <pthread.h>

#pragma GCC visibility push(default)
const void *shmemi_device_state(uint32_t version, uint32_t size);
#pragma GCC visibility pop

/* Returns the state of the rings to a program whose headers have the version and size that this
 * library was built with; ends a program that was built with other headers. The headers of programs
 * call it. */
const void *shmemi_device_state(uint32_t version, uint32_t size)
{
    static const char call[] = "shmemi_device_state";
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* the first call makes the rings */
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (version != SHMEMI_WIRE_VERSION || size != sizeof(struct shmemi_device_state))
        shmemi_abort(call, "build the program with the headers of this library",
                     "the program was built for version %u of the rings (%u bytes of state), the "
                     "library has version %d (%zu bytes)",
                     version, size, SHMEMI_WIRE_VERSION, sizeof(struct shmemi_device_state));
    pthread_mutex_lock(&mutex);
    const void *state = shmemi_state.core->rings();
    pthread_mutex_unlock(&mutex);
    if (state == NULL)
        shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
    return state;
}
