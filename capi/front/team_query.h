/* team_query.h: a program's queries about its teams. */
#ifndef SHMEMI_TEAM_QUERY_H
#define SHMEMI_TEAM_QUERY_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmem call of its name (shmemi_team_ptr: shmem_team_ptr), with its results.
 */
int shmemi_team_my_pe(shmem_team_t team, const char *call);
int shmemi_team_n_pes(shmem_team_t team, const char *call);
int shmemi_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config,
                           const char *call);
int shmemi_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to, const char *call);
void *shmemi_team_ptr(shmem_team_t team, const void *dest, int pe, const char *call);

#pragma GCC visibility pop

#endif
