/*
 * turns.h: collectives of one thread that all threads of a block call.
 *
 * Triton has no code for one thread: a call of nvshmem_barrier_all in a kernel is made by each
 * thread of each block's warps. So lanes that call a collective of a team together make one call,
 * and warps make theirs one after the other. PEs whose kernels have as many warps make as many
 * calls, as a collective needs.
 */
#ifndef SHMEM_BITCODE_TURNS_H
#define SHMEM_BITCODE_TURNS_H

#include <shmem/team.h>
#include <shmem/wait.h>

/* The part of a thread in a call. */
struct shmemi_turn {
    uint32_t lanes;  /* those of the warp that make the call together */
    int leader;      /* the lane that makes it for them */
    int mine;        /* whether this lane is the leader */
    uint32_t *claim; /* in the team's work memory; NULL for SHMEM_TEAM_INVALID and other lanes */
};

/* Waits until it is the turn of this warp in the calls of a team. The lanes of the warp that call
 * for the same team together share a turn, and the first of them is the leader. The others go on at
 * once, and wait in shmemi_turn_end; the caller makes the call only where `mine` is set. call is
 * the number of the public function, for reports. */
SHMEMI_COLD struct shmemi_turn shmemi_turn_begin(const struct shmemi_device_image *image,
                                                 uint32_t call, shmemi_team_t team)
{
    struct shmemi_turn t;
    struct shmemi_members m;
    t.lanes = __match_any_sync(__activemask(), (uint32_t)team);
    t.leader = __ffs((int)t.lanes) - 1;
    t.mine = (int)(shmemi_thread_in_block() & 31) == t.leader;
    t.claim = NULL;
    if (t.mine && shmemi_team_open(image, call, team, &m) == 0) {
        uint32_t polls = 0;
        t.claim = m.work.turns;
        /* A warp that ends because a PE was lost does not release the claim, so waiters check for
         * losses, too. */
        while (shmemi_claim_near(t.claim, 1 /* bits */) != 0) {
            shmemi_keep_waiting_for(image, &polls, m.losses);
            __nanosleep(64);
        }
    }
    return t;
}

/* Ends the turn, and returns the result of the leader's call to all lanes. All lanes of the turn
 * call it; only the leader's result counts. */
SHMEMI_COLD int shmemi_turn_end(const struct shmemi_turn *t, int result)
{
    if (t->claim != NULL)
        shmemi_release_claim(t->claim, 1 /* bits */);
    __syncwarp(t->lanes);
    return __shfl_sync(t->lanes, result, t->leader);
}

#endif
