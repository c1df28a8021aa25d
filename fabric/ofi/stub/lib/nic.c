/*
 * nic.c: the thread that acts as the NICs of this process. A polling thread carries out operations
 * that are due; this one comes a little later, and has work only where no thread polls: RDMA goes
 * on while no thread of the program is in the library.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long after its due time this thread carries an operation out: until then a thread that polls
 * can do it. */
enum { TICK_US = 50 };

/* The longest sleep while operations are under way: an operation that is posted meanwhile may be
 * due earlier, and nic_kick does not end this sleep. */
enum { SLEEP_NS = 1000000 };

/* Held until the thread of the last domain has ended, so that a new domain does not start a second
 * thread beside it. Acquired before lock. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the variables below */
static pthread_cond_t work;                              /* ends a sleep of the thread */
static struct domain *domains;
static bool idle; /* the thread has found nothing under way, so nic_kick has to wake it */
static bool ends; /* the last domain was closed, so the thread has to end */
static pthread_t thread;
static pid_t owner; /* the process that has the thread: a child that was forked has none */

/* Returns the time of CLOCK_MONOTONIC that is ns nanoseconds from now. */
static struct timespec time_after(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Carries out a domain's operations that are due. Returns the time at which the next one is due,
 * UINT64_MAX if none is under way. */
static uint64_t serve_domain(struct domain *d)
{
    uint64_t due = UINT64_MAX;
    /* If a test has switched off rule R10a, the NIC does the work of polls (rules.tsv). */
    const bool polls = without(&d->fabric->set, d->kind, R10a);
    if (pthread_mutex_trylock(&d->lock) != 0)
        return 0; /* another thread has the domain, and carries out what is due */
    for (struct ep *ep = d->eps; ep != NULL; ep = ep->next) {
        if (ep->map == NULL)
            continue;
        ep_carry(ep, false);
        if (polls)
            arrive(ep);
        due = ep_due(ep) < due ? ep_due(ep) : due;
    }
    pthread_mutex_unlock(&d->lock);
    return polls ? 0 : due;
}

/* Function of the thread that acts as the NICs: carries out operations that are due, until the last
 * domain is closed. Without operations it sleeps until nic_kick; else until the next one is due. */
static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!ends) {
        uint64_t due = UINT64_MAX;
        /* idle is set before the domains are served, so that nic_kick wakes the thread for an
         * operation that is posted after its domain was served. */
        idle = true;
        for (struct domain *d = domains; d != NULL; d = d->next) {
            uint64_t next = serve_domain(d);
            due = next < due ? next : due;
        }
        /* rnr_check comes after all domains have been served, so that it includes the operations
         * that have just found no receive at their target, and returns when to check them. */
        const uint64_t next = rnr_check(NULL);
        due = next < due ? next : due;
        if (due == UINT64_MAX) {
            if (idle && !ends)
                pthread_cond_wait(&work, &lock);
            continue;
        }
        idle = false;
        uint64_t now = now_ns(), wait = due > now ? due - now : 0;
        wait = wait < SLEEP_NS ? wait : SLEEP_NS;
        struct timespec t = time_after(wait + TICK_US * 1000);
        pthread_cond_timedwait(&work, &lock, &t);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/*
 * Called when an operation was posted: wakes the thread if it sleeps without a time limit. The
 * caller holds the lock of its domain, and acquires the thread's lock here. The thread acquires
 * them in the other order, but never waits for that of a domain, so no deadlock is possible.
 */
void nic_kick(void)
{
    if (!__atomic_load_n(&idle, __ATOMIC_SEQ_CST) || pthread_equal(pthread_self(), thread))
        return;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&idle, false, __ATOMIC_SEQ_CST);
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

/* Starts the thread that acts as the NICs of this process. */
static void start(void)
{
    sigset_t all, old;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &attr);
    pthread_condattr_destroy(&attr);
    /* The thread must not get the program's signals. */
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* the thread may write to memory that a program guards */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ends = false;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        abort();
    pthread_setname_np(thread, "stub-nic");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Adds a domain to the list of all domains of the process, and starts the thread that simulates the
 * NIC if the domain is the first, or if this process is a fork without that thread. */
void nic_add(struct domain *d)
{
    pthread_mutex_lock(&changes);
    pthread_mutex_lock(&lock);
    d->next = domains;
    domains = d;
    if (d->next == NULL || owner != getpid())
        start();
    owner = getpid();
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&changes);
}

/* Removes a domain from the list of all domains of the process. After the last one it ends the
 * thread that simulates the NICs. */
void nic_remove(struct domain *d)
{
    pthread_mutex_lock(&changes);
    pthread_mutex_lock(&lock);
    struct domain **at = &domains;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    const bool last = domains == NULL;
    if (last) {
        ends = true;
        pthread_cond_signal(&work);
    }
    pthread_mutex_unlock(&lock);
    if (last && owner == getpid())
        pthread_join(thread, NULL);
    pthread_mutex_unlock(&changes);
}

/* A fork ends the process, because the kernel does not copy registered pages (rules.tsv: R23). */
static bool guarded;

/* Reports whether an environment variable of libfabric or rdma-core is set that makes a fork safe.
 */
static bool fork_safe(void)
{
    static const char *const settings[] = {"FI_EFA_FORK_SAFE", "RDMAV_FORK_SAFE", "IBV_FORK_SAFE"};
    bool safe = false;
    for (int i = 0; i < 3; i++)
        safe = safe || getenv(settings[i]) != NULL;
    return safe;
}

/* Handler of a fork: ends a process that forks after fi_domain without a variable that makes forks
 * safe (rule R23a). */
static void before_fork(void)
{
    if (guarded && !fork_safe())
        die(R23a, "fork after fi_domain, without FI_EFA_FORK_SAFE");
}

/* Called in the first fi_getinfo: ends the process if both fork safety and huge pages are set (rule
 * R23c). */
void nic_fork_check(const struct settings *s)
{
    const char *huge = getenv("FI_EFA_USE_HUGE_PAGE");
    if (s->old_fork && fork_safe() && huge != NULL && *huge == '1' && rule(s, KIND_EFA, R23c))
        die(R23c, "FI_EFA_FORK_SAFE with FI_EFA_USE_HUGE_PAGE");
}

/* Called when a domain is opened. If the kernel cannot copy registered pages for a fork (rule
 * R23a), or the test has switched off rule R23b, the handler before_fork runs at each fork from now
 * on. */
void nic_fork_guard(struct domain *d)
{
    const struct settings *s = &d->fabric->set;
    const bool guards = s->old_fork ? rule(s, d->kind, R23a) : without(s, d->kind, R23b);
    if (guarded || !guards)
        return;
    guarded = true;
    pthread_atfork(before_fork, NULL, NULL);
}
