/*
 * teams.c: teams with the configurations of NVSHMEM, and by its rules where OpenSHMEM's differ.
 */
#include "own.h"

#include <shmem.h>

#include <stdio.h>

/* Implements nvshmem_team_get_config. Stores nothing if config is NULL or the team is invalid. */
void nvshmemi_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    shmem_team_config_t below = {0};
    if (config == NULL || shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &below) != 0)
        return;
    *config = (nvshmem_team_config_t)NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config->num_contexts = below.num_contexts;
}

/* Translates a configuration of NVSHMEM and its mask to OpenSHMEM's, and changes *mask to
 * OpenSHMEM's bits. It ignores the unique ID, which only nvshmemx_team_init uses. */
static shmem_team_config_t openshmem_config(const nvshmem_team_config_t *config, long *mask)
{
    bool counts = config != NULL && (*mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) != 0;
    *mask = counts ? SHMEM_TEAM_NUM_CONTEXTS : 0;
    return (shmem_team_config_t){counts ? config->num_contexts : 0};
}

/* Refuses a team's configuration of other headers, which has this struct's size but another version
 * in its version field. Any other number there means that the program has not initialised it, which
 * is common. Returns 0, or -1 after a message. Splits do not check: the members that they read are
 * in all versions. */
static int check_config_version(const nvshmem_team_config_t *config, const char *call)
{
    const int size = (int)sizeof *config, version = config->version >> 16;
    /* Versions from 1 to 15 are believed. 2 is that of this library's headers. */
    if ((config->version & 0xffff) != size || version < 1 || version > 15 || version == 2)
        return 0;
    fprintf(stderr,
            "shmem: PE %d: %s: a configuration of version %#x, the library has %#x (compile the "
            "program against the headers of this library, and begin with "
            "NVSHMEM_TEAM_CONFIG_INITIALIZER)\n",
            shmem_my_pe(), call, (unsigned)config->version, (2u << 16) + (unsigned)size);
    return -1;
}

/* Implements nvshmem_team_split_strided. Unlike in OpenSHMEM, each PE of the parent passes the
 * start, stride and size of its own team. Returns 0, or non-zero without a new team. */
int nvshmemi_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                                const nvshmem_team_config_t *config, long mask,
                                nvshmem_team_t *new_team)
{
    shmem_team_config_t c = openshmem_config(config, &mask);
    return shmemi_team_split_each(parent, start, stride, size, &c, mask, new_team);
}

/* Implements nvshmem_team_split_2d by OpenSHMEM's, which has the same rules. */
int nvshmemi_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xconfig,
                           long xmask, nvshmem_team_t *xteam, const nvshmem_team_config_t *yconfig,
                           long ymask, nvshmem_team_t *yteam)
{
    shmem_team_config_t x = openshmem_config(xconfig, &xmask),
                        y = openshmem_config(yconfig, &ymask);
    return shmem_team_split_2d(parent, xrange, &x, xmask, xteam, &y, ymask, yteam);
}

/* Prints why a call is refused, and returns the status of an invalid value. */
static int refuse(const char *call, const char *why)
{
    fprintf(stderr, "shmem: PE %d: %s: %s\n", shmem_my_pe(), call, why);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

/* Implements nvshmemx_team_get_uniqueid: makes the ID of a team that does not exist yet, which the
 * program passes to its PEs. Returns 0, or an error after a message. */
int nvshmemi_team_get_uniqueid(nvshmemx_team_uniqueid_t *id, const char *call)
{
    if (id == NULL)
        return refuse(call, "uniqueid is NULL (pass the address of an nvshmemx_team_uniqueid_t)");
    return shmemi_team_uniqueid(id, call);
}

/* Implements nvshmemx_team_init: makes a team of the n PEs that pass the same unique ID in config;
 * rank is this PE's number in it. Returns 0, or the status of a wrong argument. */
int nvshmemi_team_init(nvshmem_team_t *team, const nvshmem_team_config_t *config, long mask, int n,
                       int rank, const char *call)
{
    if (team == NULL)
        return refuse(call, "team is NULL (pass the address of an nvshmem_team_t)");
    *team = NVSHMEM_TEAM_INVALID;
    if (config == NULL)
        return refuse(call, "config is NULL (pass one with the unique ID of the team)");
    if (check_config_version(config, call) != 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if ((mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) == 0)
        return refuse(call, "the mask does not say that uniqueid of config counts (pass "
                            "NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID)");
    shmem_team_config_t c = openshmem_config(config, &mask);
    return shmemi_team_init(config->uniqueid, n, rank, c.num_contexts, team, call) == 0
               ? 0
               : NVSHMEMX_ERROR_INVALID_VALUE;
}

/* Always NULL: libshmem makes no multicast addresses of symmetric memory. */
void *nvshmemi_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team;
    (void)ptr;
    return NULL;
}
