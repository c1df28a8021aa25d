/*
 * colls.h: the collectives, behind the generated functions and, by team instead of
 * handle, behind those of active sets.
 */
#ifndef SHMEMI_COLLS_H
#define SHMEMI_COLLS_H

#include "base.h"
#include "below.h"

#pragma GCC visibility push(hidden)

struct shmemi_team;

/* 0, or non-zero when team is SHMEM_TEAM_INVALID. nbytes is what this PE gives. */
int shmemi_collect(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                   const char *call);
int shmemi_collect_room(shmem_team_t team, void *dest, const void *source, size_t nbytes,
                        size_t room, size_t *needed, size_t *least, const char *call);
int shmemi_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                     ptrdiff_t sst, size_t nelems, size_t size, const char *call);
int shmemi_scan(shmem_team_t team, void *dest, const void *source, size_t nelems, bool inclusive,
                const struct shmemi_reducer *reducer, const char *call);

/* own: the root's dest is written, too. */
void shmemi_coll_broadcast(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                           int root, bool own, const char *call);
void shmemi_coll_fcollect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call);
void shmemi_coll_collect(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                         const char *call);
void shmemi_coll_alltoall(struct shmemi_team *t, void *dest, const void *source, size_t nbytes,
                          const char *call);
void shmemi_coll_alltoalls(struct shmemi_team *t, void *dest, const void *source, ptrdiff_t dst,
                           ptrdiff_t sst, size_t nelems, size_t size, const char *call);
void shmemi_coll_reduce(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                        const struct shmemi_reducer *reducer, const char *call);

/* SHMEM_CHECKS=full: ends the job when the arrays overlap, or are not the same either. */
void shmemi_coll_apart(const void *dest, size_t nd, const void *source, size_t ns, bool or_same,
                       const char *call);

/* same.c. SHMEM_CHECKS=full: ends the job when the members make different calls, or pass
 * different arguments; `what` names the last of them. */
void shmemi_coll_same(struct shmemi_team *t, const void *dest, const void *source, size_t nbytes,
                      const char *what, int64_t other, const char *call);

void shmemi_add_u64(void *acc, const void *in, size_t n); /* reduce.c */
void shmemi_min_i64(void *acc, const void *in, size_t n);

#pragma GCC visibility pop

#endif
