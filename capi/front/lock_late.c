/*
 * lock_late.c: locks when PEs are lost.
 *
 * The queue of a lock (lock.c) is useless when a PE in it may be lost: each PE knows only its
 * successor. So each PE that knows of a loss leaves the queue. From then on a lock is one word that
 * names its owner, at another home: the first PE after the old home that is alive. When that PE is
 * lost, the next living PE is the home, and at last the old home again, if its PE is the only one
 * left. An owner that is lost does not have the lock any more: the next PE that sets the lock takes
 * it over, and that PE's call fails.
 *
 * PEs learn of losses at different times, and two must not take the lock at different homes. So the
 * first PE that takes the lock at a home first makes sure that every PE that is alive knows of the
 * losses, because then no PE uses an earlier home, and that none is in the queue, or takes the lock
 * at an earlier home. A PE sets its entry (its half of the lock's long) first and checks for losses
 * after that; and others see that it knows of a loss only after it does. Each PE's entry contains
 * the home that the PE uses, as the distance from the first home, in eight bits.
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

/* A bit of the word at a home: PEs take the lock at this home. The lower bits are the owner's
 * number plus one. */
#define OPENED QUEUED

enum { DISTANCE = 21 }; /* the first bit of the home's distance in a PE's entry */

/* The first pause between two tries of a waiting PE, and the longest. */
#define PACE_FIRST_NS 10000u
#define PACE_LAST_NS 1000000u

/* An attempt of this PE to set a lock after a loss. */
struct late {
    const struct lock *l;
    int home;  /* the lock's present home, which this PE uses */
    int died;  /* the PE that may have had the lock and is lost, or -1 */
    bool held; /* this PE has the lock */
};

/* For the hang report: names the lock, and the symmetric object that it is in. */
void shmemi_describe_lock(const void *subject, char *text, size_t size)
{
    const struct lock *l = subject;
    char place[SHMEMI_PLACE];
    snprintf(text, size, "for the lock at %p (%s)", (void *)l->place,
             shmemi_place(place, l->place));
}

/* Returns the home of a lock now that its first home may be lost: the next PE that is alive, or the
 * first home if no other is. */
static int home_now(const struct lock *l)
{
    int n = (int)shmemi_state.n_pes;
    int pe = (l->home + 1) % n;
    while (pe != l->home && shmemi_is_lost(pe))
        pe = (pe + 1) % n;
    return pe;
}

/* Returns the bits that a PE's entry has for the home which it uses: the distance from the lock's
 * first home, modulo 256. */
static uint32_t distance_bits(const struct lock *l, int home)
{
    uint32_t n = shmemi_state.n_pes;
    return (((uint32_t)home + n - (uint32_t)l->home) % n & 0xff) << DISTANCE;
}

/* Performs an atomic operation on the lock's word at its present home, and returns the old value.
 * compare is for compare-and-swap; other operations ignore it, here and in at_place. */
static uint32_t at_home(const struct late *t, enum shmemi_amo op, uint32_t operand,
                        uint32_t compare)
{
    return shmemi_amo32(SHMEM_CTX_DEFAULT, op, t->l->tail, operand, compare, t->home, t->l->call);
}

/* Reads which losses PE pe knows: sets words[i] to a number other than 0 if pe knows that PE i is
 * lost, else to 0. The words are in the internal area of each PE, after its teams. If the get fails
 * because pe is lost itself, all words are 0. */
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
    const uint64_t *pe_words = (const uint64_t *)(const void *)(s->peer_base[pe] + at);
    for (uint32_t i = 0; i < s->n_pes; i++)
        words[i] = shmemi_observe(&pe_words[i]);
}

/* All living PEs know the first `known` losses of this job. */
static uint32_t known;

/* At init: this job has no losses, and its PEs know none. */
void shmemi_lock_late_open(void)
{
    shmemi_write_once(&known, 0);
}

/* Reports whether every living PE knows all losses that this one knows. It reads their words, or
 * gets them over the network, again only after a further loss. */
static bool all_know(const char *call)
{
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
        all = all || shmemi_is_lost(pe); /* a PE that is lost by now need not know */
    }
    free(words);
    if (all)
        shmemi_publish(&known, lost);
    return all;
}

/* Reports whether no other PE that is alive is in the queue, or uses another home than this PE. */
static bool none_elsewhere(const struct late *t)
{
    /* The bits of the entry of a PE that uses this PE's home. */
    uint32_t same_home = QUEUED | WITHOUT_QUEUE | distance_bits(t->l, t->home);
    for (int pe = 0; pe < (int)shmemi_state.n_pes; pe++) {
        if (pe == shmemi_state.my_pe || shmemi_is_lost(pe))
            continue;
        uint32_t place = at_place(t->l, SHMEMI_AMO_FETCH, 0, 0, pe);
        /* It is in the queue, or its distance lacks a bit. */
        if ((place & QUEUED) && (place & same_home) != same_home && !shmemi_is_lost(pe))
            return false;
        /* Its distance differs. */
        if ((place & QUEUED) && ((place ^ same_home) >> DISTANCE & 0xff) != 0 &&
            !shmemi_is_lost(pe))
            return false;
    }
    return true;
}

/* Returns the lost PE that may have had the lock when it was lost, in the queue or at an earlier
 * home; -1 if there is none. If the queue's tail names a PE that is alive, some lost PE before it
 * in the queue may have had the lock, so the last loss is returned. */
static int left_behind(const struct late *t)
{
    const struct shmemi_state *s = &shmemi_state;
    int first = t->l->home, n = (int)s->n_pes;
    if (shmemi_is_lost(first))
        return first; /* the word that names the owner is lost with it */
    /* The PEs between the first home and the present one may have been homes as well, and their
     * word is lost with them. With two PEs there is none: the other PE becomes a home only when the
     * first one is lost. */
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

/* Changes this PE's entry: the PE leaves the queue, or a home that is lost, and uses a home that is
 * alive (t->home). It tries again if another PE has changed the entry, or the new home is lost by
 * then. Returns false if a PE of the queue has passed the lock to this PE meanwhile. */
static bool change_home(struct late *t)
{
    for (;;) {
        t->home = home_now(t->l);
        uint32_t entry = my_place(t->l);
        uint32_t new_entry = QUEUED | WAITS | WITHOUT_QUEUE | distance_bits(t->l, t->home);
        if (!(entry & WITHOUT_QUEUE) && !(entry & WAITS))
            return false;
        if (at_place(t->l, SHMEMI_AMO_CSWAP, new_entry, entry, shmemi_state.my_pe) != entry)
            continue;
        if (!shmemi_is_lost(t->home))
            return true;
    }
}

/* Tries once to take the lock at its present home, the PE whose word names the owner since a loss.
 * Returns false if another PE has the lock there, if a PE may still have it in the queue or at an
 * earlier home, or if some PE does not know of all losses yet. */
static bool try_once(struct late *t)
{
    uint32_t owned_by_me = OPENED | me_plus_one(); /* the home's word when this PE has the lock */
    if (shmemi_is_lost(t->home))
        change_home(t); /* this PE has left the queue already, so that no PE passes it the lock */
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
    /* A value from a home that is lost by now means nothing. */
    return at_home(t, SHMEMI_AMO_CSWAP, owned_by_me, now) == now && !shmemi_is_lost(t->home);
}

/* Sets the lock at its home, however long that takes: it tries again and again, after growing
 * pauses, because without the queue no PE informs this one that the lock is free. */
static void try_until_held(struct late *t)
{
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = t->l->call,
                              .describe = shmemi_describe_lock,
                              .subject = t->l,
                              .whom = SHMEMI_NOBODY};
    uint64_t next = 0, pace = PACE_FIRST_NS;
    for (;;) {
        if (shmemi_now() >= next) {
            /* try_once may wait itself, and only one wait of a thread may poll the network. */
            shmemi_wait_over(&w);
            if (try_once(t))
                break;
            next = shmemi_now() + pace;
            pace = pace * 2 > PACE_LAST_NS ? PACE_LAST_NS : pace * 2;
        }
        shmemi_wait_step(&w);
    }
    shmemi_wait_over(&w);
    t->held = true;
}

/* Sets a lock after a loss: leaves the queue, and takes the lock at its home; with `once` it tries
 * only once, and may return false: this PE does not have the lock. The program's call fails if a
 * lost PE may have had the lock, although this PE has it then. */
bool shmemi_lock_late(const struct lock *l, bool once)
{
    struct late t = {.l = l, .died = -1};
    shmemi_mute(true);
    bool passed = !change_home(&t); /* a PE of the queue has passed the lock to this one */
    if (passed)
        t.held = true;
    else if (once)
        t.held = try_once(&t);
    else
        try_until_held(&t);
    if (!t.held) /* this PE no longer tries */
        at_place(l, SHMEMI_AMO_SET, /* operand */ 0, /* compare */ 0, shmemi_state.my_pe);
    else if (!passed)
        at_place(l, SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0, shmemi_state.my_pe);
    shmemi_mute(false);
    if (t.held && t.died >= 0)
        shmemi_fail_lost(t.died, l->call);
    return t.held;
}

/* Clears a lock that was set without the queue: its word at its home, and this PE's entry. */
void shmemi_unlock_late(const struct lock *l, uint32_t place)
{
    int home = home_now(l);
    /* If the lock's present home is not the one at which this PE took the lock (place), that one is
     * lost, and its word with it. */
    if ((place >> DISTANCE & 0xff) == distance_bits(l, home) >> DISTANCE)
        shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_CSWAP, l->tail, OPENED, OPENED | me_plus_one(),
                     home, l->call);
    at_place(l, SHMEMI_AMO_SET, /* operand */ 0, /* compare */ 0, shmemi_state.my_pe);
}
