/* netlock.h: the lock of the endpoint, which threads of this process share with the proxy. */
#ifndef SHMEMI_NETLOCK_H
#define SHMEMI_NETLOCK_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Around everything that posts; and what is done under it is seen by whoever has it next. */
void shmemi_net_lock(const char *call);
void shmemi_net_unlock(void);

#pragma GCC visibility pop

#endif
