/*
 * archive_state.h: the structures that device code of NVIDIA's device archive reads: where they
 * lie, and what they say.
 */
#ifndef SHMEMI_ARCHIVE_STATE_H
#define SHMEMI_ARCHIVE_STATE_H

#include "team.h"

#include "zz_archive.h"
#include "zz_channel.h"

#pragma GCC visibility push(hidden)

/* Releases of NVSHMEM whose device code divides the memory of a team's collectives alike. Each
 * family has memory of its own, so that code of both may run in one process. */
enum shmemi_archive_family {
    SHMEMI_ARCHIVE_3_3, /* 3.3 and 3.4 */
    SHMEMI_ARCHIVE_3_6, /* 3.6 to 3.8, and 3.5 with an even number of PEs */
    SHMEMI_ARCHIVE_FAMILIES
};

/* A release of NVSHMEM. */
struct shmemi_archive_release {
    int minor; /* of 3.x */
    enum shmemi_archive_family family;
    uint32_t state; /* bytes of the state */
};

/* Where everything lies in the memory for kernels of the archive: offsets from its beginning, which
 * is at the same place of each PE's heap. The parts from `words` on are only for this PE. */
struct shmemi_archive_places {
    size_t psync[SHMEMI_ARCHIVE_FAMILIES]; /* words and buffers of collectives, team by team */
    size_t sync[SHMEMI_ARCHIVE_FAMILIES];  /* two counters for each team */
    size_t words;                          /* struct shmemi_archive_words */
    size_t direct, remote; /* tables by PE: where its heap is for this PE, and for itself */
    size_t pool[SHMEMI_ARCHIVE_FAMILIES];  /* the address of each team, by its handle */
    size_t teams[SHMEMI_ARCHIVE_FAMILIES]; /* the teams, each with its lists of PEs */
    size_t team;                           /* the bytes of one team with its lists */
    uint32_t n_teams;
    size_t size; /* the bytes of all of it */
};

/* Words that the state points to. */
struct shmemi_archive_words {
    uint64_t any_start; /* where the next wait for any of several words begins */
    uint64_t regions;   /* how many batch regions there are: 0 */
    uint64_t timeout[8];
};

/* Divides the memory among its parts: sets p, for a job of n PEs and `teams` teams. */
void shmemi_archive_place(struct shmemi_archive_places *p, int n, uint32_t teams);

/* Returns how many longs of psync a team has in a job of n PEs. */
size_t shmemi_archive_psync(enum shmemi_archive_family family, int n);

/* Fills in the state of a release. block: the address of the memory. channel: the parts of the
 * proxy channel, by which kernels of some PE reach another; NULL: loads and stores reach all PEs
 * from each. */
void shmemi_archive_fill(struct shmemi_archive_state *s, const struct shmemi_archive_release *r,
                         const struct shmemi_archive_places *p, uint64_t block,
                         const struct shmemi_channel *channel);

/* Fills in a team, and the lists behind it. at: the address where all of it will lie. direct: loads
 * and stores reach all PEs of the job from each. If they do not, teams say so of all PEs: else
 * fcollect would want, for each team, a team of its PEs on this node. The result has p->team
 * bytes. */
void shmemi_archive_fill_team(void *out, enum shmemi_archive_family family,
                              const struct shmemi_archive_places *p, const struct shmemi_team *t,
                              int handle, uint64_t at, bool direct);

#pragma GCC visibility pop

#endif
