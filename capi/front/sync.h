/* sync.h: implements shmem_barrier_all, shmem_sync_all and shmem_team_sync. */
#ifndef SHMEMI_SYNC_H
#define SHMEMI_SYNC_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_barrier_all(const char *call);
void shmemi_sync_all(const char *call);
int shmemi_team_sync(shmem_team_t team, const char *call);

#pragma GCC visibility pop

#endif
