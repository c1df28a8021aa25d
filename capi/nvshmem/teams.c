/*
 * teams.c: teams with the configurations and the meaning of NVSHMEM.
 */
#include "own.h"

#include <shmem.h>

#include <stdio.h>

int nvshmemi_barrier(nvshmem_team_t team)
{
    shmem_quiet();
    return shmem_team_sync(team);
}

void nvshmemi_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    shmem_team_config_t below = {0};
    if (config == NULL || shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &below) != 0)
        return;
    *config = (nvshmem_team_config_t)NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config->num_contexts = below.num_contexts;
}

/* A configuration of libshmem, with its mask. The unique ID of a configuration is for teams
 * that nvshmemx_team_init makes, and does not count here. */
static shmem_team_config_t below(const nvshmem_team_config_t *config, long *mask)
{
    bool counts = config != NULL && (*mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) != 0;
    *mask = counts ? SHMEM_TEAM_NUM_CONTEXTS : 0;
    return (shmem_team_config_t){counts ? config->num_contexts : 0};
}

int nvshmemi_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                                const nvshmem_team_config_t *config, long mask,
                                nvshmem_team_t *new_team)
{
    shmem_team_config_t c = below(config, &mask);
    return shmemi_team_split_each(parent, start, stride, size, &c, mask, new_team);
}

int nvshmemi_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xconfig,
                           long xmask, nvshmem_team_t *xteam, const nvshmem_team_config_t *yconfig,
                           long ymask, nvshmem_team_t *yteam)
{
    shmem_team_config_t x = below(xconfig, &xmask), y = below(yconfig, &ymask);
    return shmem_team_split_2d(parent, xrange, &x, xmask, xteam, &y, ymask, yteam);
}

void *nvshmemi_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team;
    (void)ptr;
    return NULL;
}
