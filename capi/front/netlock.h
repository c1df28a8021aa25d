/* netlock.h: the lock of the endpoint, which threads of this process share with the proxy. */
#ifndef SHMEMI_NETLOCK_H
#define SHMEMI_NETLOCK_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* The lock stands around each post to the network. A thread that takes it sees the writes of the
 * thread that had it before. */
void shmemi_net_lock(const char *call);
void shmemi_net_unlock(void);

#pragma GCC visibility pop

#endif
