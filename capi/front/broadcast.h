/* broadcast.h: broadcasts of a team; coll.h has other collectives. */
#ifndef SHMEMI_BROADCAST_H
#define SHMEMI_BROADCAST_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Implements shmem_broadcast. Returns 0, or non-zero if the team is invalid or a PE is lost. */
int shmemi_broadcast(shmem_team_t team, void *dest, const void *source, size_t nbytes, int root,
                     const char *call);

/* Broadcasts in a team whose collective call has begun; to_root: also to the root's dest. */
void shmemi_coll_broadcast(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                           int root, bool to_root, const char *call);

/* Reports whether, on a node, the members read the n bytes of a broadcast from the root, rather
 * than the root writing to each of them. */
bool shmemi_coll_pulls(size_t n);

/* Ends the job when the arguments are wrong. */
void shmemi_coll_check_broadcast(const struct shmemi_team *t, const void *dest, const void *source,
                                 size_t nbytes, int root, const char *call);

#pragma GCC visibility pop

#endif
