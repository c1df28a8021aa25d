/*
 * coll.h: fcollect, collect and alltoall: by handle for the public functions, which are generated,
 * and by team for the collectives of active sets.
 */
#ifndef SHMEMI_COLL_H
#define SHMEMI_COLL_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* These implement shmem_fcollect and the others. They return 0, or non-zero if team is
 * SHMEM_TEAM_INVALID or a PE is lost; wrong addresses or strides end the job. nbytes is what one PE
 * contributes (to each PE, for alltoall). */
int shmemi_fcollect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call);
int shmemi_collect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                   const char *call);
/* Collects into dest, which has `room` bytes. Sets *needed to the bytes of all contributions and
 * *least to the smallest room of a member. Returns 1 without writing anything if they do not fit at
 * some member; otherwise like shmemi_collect. */
int shmemi_collect_room(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                        size_t room, size_t *needed, size_t *least, const char *call);
int shmemi_alltoall(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                    const char *call);
int shmemi_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                     ptrdiff_t sst, size_t nelems, size_t size, const char *call);

/* fcollect, collect, alltoall and alltoalls of a team whose collective call has begun
 * (shmemi_collective_begin). */
void shmemi_coll_fcollect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call);
void shmemi_coll_collect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                         const char *call);
void shmemi_coll_alltoall(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call);
void shmemi_coll_alltoalls(struct shmemi_team *t, void *dest, const void *source, ptrdiff_t dst,
                           ptrdiff_t sst, size_t nelems, size_t size, const char *call);

/* Ends the job when the arguments are wrong. */
void shmemi_coll_check_alltoalls(const struct shmemi_team *t, const void *dest, const void *source,
                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t size,
                                 const char *call);

#pragma GCC visibility pop

#endif
