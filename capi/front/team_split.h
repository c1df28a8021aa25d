/* team_split.h: splits teams from others, and destroys them. */
#ifndef SHMEMI_TEAM_SPLIT_H
#define SHMEMI_TEAM_SPLIT_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmem call of its name. The splits return 0, or -1; the same on all PEs of
 * the parent that have passed the same arguments. */
int shmemi_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team, const char *call);
int shmemi_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xconfig,
                         long xmask, shmem_team_t *xteam, const shmem_team_config_t *yconfig,
                         long ymask, shmem_team_t *yteam, const char *call);
void shmemi_team_destroy(shmem_team_t team, const char *call);

#pragma GCC visibility pop

#endif
