/*
 * lock_late.c: locks when PEs are lost.
 *
 * The queue of a lock is of no use when a PE in it may be lost: the order of two PEs is known only
 * to those two. So each PE that knows of a loss leaves the queue, and from then on a lock is a word
 * that names its owner, at another home: the first PE after the old home that is alive. When that
 * PE is lost too, the next one is the home, and the old home again when its PE is the only one
 * left. An owner that is lost has the lock no more: the next PE that comes takes it, and its call
 * fails.
 *
 * PEs learn of losses at different times, and two must not have the lock by different homes. So the
 * first PE at a home makes sure that every PE that is alive knows of the losses, for then no PE
 * comes to an earlier home, and that none has a place in the queue or by an earlier home. A PE
 * takes its place first and checks for losses after it, and others see that it knows of a loss only
 * after it does. Each PE's place says by which home it is taken, as the distance from the first
 * one, in eight bits.
 *
 * The lock is not first come, first served any more. A waiting PE reads the word at the home, at
 * first every 10 us and at last every ms.
 */
#include "lock_late.h"

#include "address.h"
#include "clock.h"
#include "failure.h"
#include "front.h"
#include "lock_parts.h"
#include "remote.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>
#include <stdlib.h>

/* A bit of the word at a home: PEs take the lock by this home. The lower bits are the owner's
 * number plus one. */
#define OPENED QUEUED

enum { DISTANCE = 21 }; /* the first bit of the home's distance in a place */

/* The first pause between two tries of a waiting PE, and the longest. */
#define PACE_FIRST_NS 10000u
#define PACE_LAST_NS 1000000u

/* An attempt of this PE to take a lock after a loss. */
struct late {
    const struct lock *l;
    int home;
    int died; /* the PE that may have had the lock and is lost, or -1 */
    bool held;
};

void shmemi_describe_lock(const void *subject, char *text, size_t size)
{
    const struct lock *l = subject;
    char place[SHMEMI_PLACE];
    snprintf(text, size, "for the lock at %p (%s)", (void *)l->place,
             shmemi_place(place, l->place));
}

/* The home of a lock now that its first home may be lost: the next PE that is alive, or the first
 * home if no other is. */
static int home_now(const struct lock *l)
{
    int n = (int)shmemi_state.n_pes;
    int pe = (l->home + 1) % n;
    while (pe != l->home && shmemi_is_lost(pe))
        pe = (pe + 1) % n;
    return pe;
}

/* The bits of a place that say by which home it is taken. */
static uint32_t distance(const struct lock *l, int home)
{
    uint32_t n = shmemi_state.n_pes;
    return (((uint32_t)home + n - (uint32_t)l->home) % n & 0xff) << DISTANCE;
}

/* An atomic operation on the lock's word at its present home. */
static uint32_t at_home(const struct late *t, enum shmemi_amo op, uint32_t operand,
                        uint32_t compare)
{
    return shmemi_amo32(SHMEM_CTX_DEFAULT, op, t->l->tail, operand, compare, t->home, t->l->call);
}

/* Reads which losses PE pe knows: words gets for each PE of the job 0, or not 0 if it is lost. */
static void known_by(int pe, uint64_t *words, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    int64_t at = (int64_t)(s->team_size * s->max_teams) - (int64_t)s->teams_offset;
    if (s->peer_base[pe] == NULL) {
        memset(words, 0, s->n_pes * sizeof *words);
        shmemi_net_do(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_GET,
                                                      .pe = pe,
                                                      .offset = at,
                                                      .nbytes = s->n_pes * sizeof *words,
                                                      .dest = words,
                                                      .call = call});
        return;
    }
    const uint64_t *there = (const uint64_t *)(const void *)(s->peer_base[pe] + at);
    for (uint32_t i = 0; i < s->n_pes; i++)
        words[i] = shmemi_observe(&there[i]);
}

/* Reports whether every living PE knows all losses that this one knows. */
static bool all_know(const char *call)
{
    static uint32_t known;
    const struct shmemi_state *s = &shmemi_state;
    uint32_t lost = shmemi_observe(&s->n_lost);
    if (shmemi_observe(&known) >= lost)
        return true;
    uint64_t *words = malloc(s->n_pes * sizeof *words);
    bool all = words != NULL;
    for (int pe = 0; all && pe < (int)s->n_pes; pe++) {
        if (pe == s->my_pe || shmemi_is_lost(pe))
            continue;
        known_by(pe, words, call);
        for (uint32_t i = 0; i < lost; i++)
            all = all && words[s->losses[i]] != 0;
        all = all || shmemi_is_lost(pe);
    }
    free(words);
    if (all)
        shmemi_publish(&known, lost);
    return all;
}

/* Reports whether no PE that is alive has a place in the queue, or by another home than this. */
static bool none_elsewhere(const struct late *t)
{
    uint32_t here = QUEUED | LATE | distance(t->l, t->home);
    for (int pe = 0; pe < (int)shmemi_state.n_pes; pe++) {
        if (pe == shmemi_state.my_pe || shmemi_is_lost(pe))
            continue;
        uint32_t place = at_place(t->l, SHMEMI_AMO_FETCH, 0, 0, pe);
        if ((place & QUEUED) && (place & here) != here && !shmemi_is_lost(pe))
            return false;
        if ((place & QUEUED) && ((place ^ here) >> DISTANCE & 0xff) != 0 && !shmemi_is_lost(pe))
            return false;
    }
    return true;
}

/* The lost PE that may have had the lock, in the queue or by an earlier home, and not cleared it;
 * -1 if there is none. */
static int left_behind(const struct late *t)
{
    const struct shmemi_state *s = &shmemi_state;
    int first = t->l->home, n = (int)s->n_pes;
    if (shmemi_is_lost(first))
        return first; /* the word that names the owner is lost with it */
    /* The PEs in between may have been homes of the lock, too. With two PEs there is none: the
     * other PE becomes a home only by a loss. */
    for (int pe = (first + 1) % n; n > 2 && pe != t->home; pe = (pe + 1) % n)
        if (shmemi_is_lost(pe))
            return pe;
    uint32_t last =
        shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_FETCH, t->l->tail, 0, 0, first, t->l->call);
    if (last == 0)
        return -1;
    int pe = (int)(last & NEXT) - 1;
    return pe < n && shmemi_is_lost(pe) ? pe : s->losses[s->n_lost - 1];
}

/* Changes this PE's place from the queue, or a lost home, to a home that is alive. False: at that
 * moment a PE of the queue passed the lock to this PE, which has it now. */
static bool move(struct late *t)
{
    for (;;) {
        t->home = home_now(t->l);
        uint32_t place = my_place(t->l);
        uint32_t to = QUEUED | WAITS | LATE | distance(t->l, t->home);
        if (!(place & LATE) && !(place & WAITS))
            return false;
        if (at_place(t->l, SHMEMI_AMO_CSWAP, to, place, shmemi_state.my_pe) != place)
            continue;
        if (!shmemi_is_lost(t->home))
            return true;
    }
}

/* Tries once to take the lock by its present home. False: another PE has it, or may have it. */
static bool try(struct late *t)
{
    uint32_t me = OPENED | me_plus_one();
    if (shmemi_is_lost(t->home))
        move(t); /* it has left the queue, so no PE passes it the lock */
    if (!all_know(t->l->call))
        return false;
    uint32_t now = at_home(t, SHMEMI_AMO_FETCH, 0, 0);
    int owner = (int)(now & NEXT) - 1;
    t->died = -1;
    if (!(now & OPENED)) {
        if (!none_elsewhere(t))
            return false;
        t->died = left_behind(t);
    } else if (owner >= 0) {
        if (!shmemi_is_lost(owner))
            return false;
        t->died = owner;
    }
    /* A value from a home that is lost by now counts for nothing. */
    return at_home(t, SHMEMI_AMO_CSWAP, me, now) == now && !shmemi_is_lost(t->home);
}

/* Tries to take the lock until this PE has it. */
static void try_at_times(struct late *t)
{
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = t->l->call,
                              .describe = shmemi_describe_lock,
                              .subject = t->l,
                              .whom = SHMEMI_NOBODY};
    uint64_t next = 0, pace = PACE_FIRST_NS;
    for (;;) {
        if (shmemi_now() >= next) {
            shmemi_wait_over(&w); /* try may wait itself, and only one of the two waits polls */
            if (try(t))
                break;
            next = shmemi_now() + pace;
            pace = pace * 2 > PACE_LAST_NS ? PACE_LAST_NS : pace * 2;
        }
        shmemi_wait_step(&w);
    }
    shmemi_wait_over(&w);
    t->held = true;
}

/* Leaves the queue for the lock's home, and takes the lock there; its call fails if a lost PE may
 * have had it. */
bool shmemi_lock_late(const struct lock *l, bool once)
{
    struct late t = {.l = l, .died = -1};
    shmemi_mute(true);
    bool passed = !move(&t);
    if (passed)
        t.held = true;
    else if (once)
        t.held = try(&t);
    else
        try_at_times(&t);
    if (!t.held)
        at_place(l, SHMEMI_AMO_SET, 0, 0, shmemi_state.my_pe);
    else if (!passed)
        at_place(l, SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0, shmemi_state.my_pe);
    shmemi_mute(false);
    if (t.held && t.died >= 0)
        shmemi_fail_lost(t.died, l->call);
    return t.held;
}

/* Frees a lock that was taken by a home, and this PE's place. */
void shmemi_unlock_late(const struct lock *l, uint32_t place)
{
    int home = home_now(l);
    /* Otherwise the home by which the lock was taken is lost, and its word with it. */
    if ((place >> DISTANCE & 0xff) == distance(l, home) >> DISTANCE)
        shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_CSWAP, l->tail, OPENED, OPENED | me_plus_one(),
                     home, l->call);
    at_place(l, SHMEMI_AMO_SET, 0, 0, shmemi_state.my_pe);
}
