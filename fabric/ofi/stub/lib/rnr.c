/*
 * rnr.c: operations whose target has no receive posted (receiver not ready). Each target has one
 * list of waiting operations, of all endpoints of this process, and one check of the target shows
 * how many of them may go on. When each operation tried again by itself, an all-to-all of 256
 * endpoints with 64 receives each cost the NIC's thread 12 to 27 million tries, and took from 10 s
 * to minutes.
 */
#define _GNU_SOURCE
#include "stub.h"

/* Nanoseconds between two checks of all targets for receives, and between two checks of whether a
 * target's process lives. */
enum { CHECK_NS = 10000, ALIVE_NS = 1000000 };

/*
 * The lock of targets, and of the operations that wait. It is taken with a domain's lock held; its
 * holder only tries to take a domain's lock, and does not wake the NIC's thread.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *targets;
static uint64_t checked;

/* Lets an operation wait until its target has posted a receive (receiver not ready). The caller
 * holds the lock of the operation's domain. A target with waiting operations is in a list that
 * rnr_check searches, and keeps its mapping. */
void rnr_wait(struct op *op)
{
    struct mapping *m = op->peer->map;
    pthread_mutex_lock(&lock);
    if (m->waiting == NULL) {
        wire_add_user(m);
        m->waiting_end = &m->waiting;
        m->seen = now_ns();
        m->next_target = targets;
        __atomic_store_n(&targets, m, __ATOMIC_SEQ_CST);
    }
    op->next_waiting = NULL;
    *m->waiting_end = op;
    m->waiting_end = &op->next_waiting;
    pthread_mutex_unlock(&lock);
}

/* Makes the first n operations that wait for a target due, and reports whether there was one. An
 * operation whose domain another thread has locked waits until the next check: to wait for that
 * lock here could deadlock. held is the domain that the caller has locked. */
static bool resume(struct mapping *m, int64_t n, struct domain *held)
{
    bool any = false;
    struct op **at = &m->waiting;
    while (*at != NULL && n > 0) {
        struct op *op = *at;
        struct domain *d = op->ep->domain;
        if (d != held && pthread_mutex_trylock(&d->lock) != 0) {
            at = &op->next_waiting;
            continue;
        }
        *at = op->next_waiting;
        op_wait(op->ep, op, 0);
        if (d != held)
            pthread_mutex_unlock(&d->lock);
        any = true;
        n--;
    }
    if (*at == NULL)
        m->waiting_end = at;
    return any;
}

/* Removes targets for which no operation waits any more from the list. */
static void sweep(void)
{
    struct mapping **at = &targets;
    while (*at != NULL) {
        struct mapping *m = *at;
        if (m->waiting != NULL) {
            at = &m->next_target;
            continue;
        }
        __atomic_store_n(at, m->next_target, __ATOMIC_SEQ_CST);
        wire_close(m);
    }
}

/*
 * Resumes operations whose target now has receives, or is gone. The caller holds the lock of one
 * domain, or of none (NULL). Returns the time of the next check, or UINT64_MAX if no operation
 * waits.
 */
uint64_t rnr_check(struct domain *held)
{
    if (__atomic_load_n(&targets, __ATOMIC_SEQ_CST) == NULL)
        return UINT64_MAX;
    const uint64_t now = now_ns(), next = __atomic_load_n(&checked, __ATOMIC_RELAXED) + CHECK_NS;
    bool any = false;
    if (now < next)
        return next;
    if (pthread_mutex_trylock(&lock) != 0)
        return now;
    __atomic_store_n(&checked, now, __ATOMIC_RELAXED);
    for (struct mapping *m = targets; m != NULL; m = m->next_target) {
        int64_t receives = atomic_load(&m->w->credits);
        if (receives <= 0 && now - m->seen >= ALIVE_NS) {
            m->seen = now;
            if (!wire_alive(m))
                receives = INT64_MAX;
        }
        any = resume(m, receives, held) || any;
    }
    sweep();
    pthread_mutex_unlock(&lock);
    if (any)
        nic_kick(); /* the operations may be those of a domain that no thread polls */
    return now;
}

/*
 * Removes waiting operations, because an endpoint closes (peer NULL) or the address of one of its
 * peers is removed. The caller holds the domain's lock.
 */
void rnr_forget(const struct ep *ep, const struct peer *peer)
{
    pthread_mutex_lock(&lock);
    for (struct mapping *m = targets; m != NULL; m = m->next_target) {
        struct op **at = &m->waiting;
        while (*at != NULL) {
            if ((*at)->ep == ep && (peer == NULL || (*at)->peer == peer))
                *at = (*at)->next_waiting;
            else
                at = &(*at)->next_waiting;
        }
        m->waiting_end = at;
    }
    sweep();
    pthread_mutex_unlock(&lock);
}
