/*
 * archive_memory.h: the memory that kernels of NVIDIA's device archive use, in the symmetric heap:
 * teams, and words and buffers of their collectives. archive.c allocates it.
 */
#ifndef SHMEMI_ARCHIVE_MEMORY_H
#define SHMEMI_ARCHIVE_MEMORY_H

#include "archive_state.h"

#pragma GCC visibility push(hidden)

/* This PE's block of the memory, which is at the same offset of each PE's heap. */
extern struct shmemi_archive_memory {
    /* A process of the job is a program that was built against NVIDIA's library. */
    bool wanted;
    bool serves; /* code of the archive in this process has the state */
    /* Loads and stores do not reach all PEs from each: operations on some go through the proxy
     * channel, as do all atomic operations, signals and barriers. The same on all PEs. */
    bool by_channel;
    struct shmemi_channel channel; /* the parts of this PE's, if by_channel */
    /* Not allocated yet, ready, or refused for a reason that is the same on all PEs (why). */
    enum { SHMEMI_ARCHIVE_NOT_YET, SHMEMI_ARCHIVE_READY, SHMEMI_ARCHIVE_REFUSED } status;
    char *block;                         /* the address of this PE's block; NULL: not allocated */
    struct shmemi_archive_places places; /* where the parts are in a block */
    char why[1024];                      /* if refused: the cause and the remedy */
} shmemi_archive_memory;

/* Reports whether a process of the job is a program that was built against NVIDIA's library. Then
 * handles of teams are small numbers, because kernels of the archive use them as indices. */
bool shmemi_archive_wanted(void);
void shmemi_archive_keep(bool wanted); /* sets what shmemi_archive_wanted returns */

/* Returns the address of the memory for kernels. */
uint64_t shmemi_archive_address(void);
/* Copies n bytes to that memory, or to a variable of the program. Returns what gpu_move returns. */
int shmemi_archive_put(uint64_t at, const void *from, size_t n);

/* Returns how many of the job's `slots` team slots new teams may occupy: once kernels of the
 * archive are served, no more than they have memory for. */
uint32_t shmemi_archive_slots(uint32_t slots);
/* Clears what kernels have left in the memory of a team's slot. All PEs of a new team call it
 * before shmemi_archive_show. */
void shmemi_archive_renew(int slot, const char *call);
/* Makes a team known to kernels of the archive. */
void shmemi_archive_show(const struct shmemi_team *t, shmem_team_t handle, const char *call);
/* Removes a team that the program has made from those that kernels of the archive know. */
void shmemi_archive_hide(const struct shmemi_team *t, const char *call);

/* At finalize: forgets the memory, which ends with the heap. */
void shmemi_archive_end(void);

#pragma GCC visibility pop

#endif
