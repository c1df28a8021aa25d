/* netlock.h: the network lock, which guards the libfabric endpoint: threads of this process share
 * that with the proxy. */
#ifndef SHMEMI_NETLOCK_H
#define SHMEMI_NETLOCK_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Acquires the network lock, which a thread has during each post to the network. The thread then
 * sees the writes of the thread that had the lock before. */
void shmemi_net_lock(const char *call);
/* Releases the network lock. */
void shmemi_net_unlock(void);

#pragma GCC visibility pop

#endif
