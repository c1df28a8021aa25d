/*
 * below.h: what libraries of other names call of libshmem.so, beside its public functions.
 */
#ifndef SHMEMI_BELOW_H
#define SHMEMI_BELOW_H

#include <shmem.h>

#pragma GCC visibility push(default)

/*
 * Does what shmem_team_split_strided does, but each PE of the parent passes the numbers of its
 * own team. Teams of one call have no PE in common. A PE whose numbers are not usable, or are
 * those of a team without it, is in none.
 */
int shmemi_team_split_each(shmem_team_t parent_team, int start, int stride, int size,
                           const shmem_team_config_t *config, long config_mask,
                           shmem_team_t *new_team);

#pragma GCC visibility pop

#endif
