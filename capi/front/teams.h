/*
 * teams.h: the functions on teams, behind the generated ones.
 */
#ifndef SHMEMI_TEAMS_H
#define SHMEMI_TEAMS_H

#include "base.h"

#pragma GCC visibility push(hidden)

int shmemi_team_my_pe(shmem_team_t team, const char *call);
int shmemi_team_n_pes(shmem_team_t team, const char *call);
int shmemi_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config,
                           const char *call);
int shmemi_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to, const char *call);
int shmemi_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team, const char *call);
int shmemi_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xconfig,
                         long xmask, shmem_team_t *xteam, const shmem_team_config_t *yconfig,
                         long ymask, shmem_team_t *yteam, const char *call);
void shmemi_team_destroy(shmem_team_t team, const char *call);
int shmemi_team_sync(shmem_team_t team, const char *call); /* barrier.c */
void *shmemi_team_ptr(shmem_team_t team, const void *dest, int pe, const char *call);

#pragma GCC visibility pop

#endif
