/*
 * hook.c: what happens before and after each call of the program: which modes see it, and when.
 *
 * A library may call a function of the interface within another one, and the loader binds that call
 * to the shim, too. Such a call is passed to the library without being shown to modes: depth counts
 * how deep a thread is in calls.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <pthread.h>
#include <stdatomic.h>

/* How many calls this thread is within; 0 in the program's own code. */
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

/* The library's function for each call; every thread that writes one writes the same value. */
static void *reals[PRELOAD_CALLS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool started;

/* In the child of a fork: calls the function `forked` of each mode that has one. */
static void call_in_child(void)
{
    for (int i = 0; preload_active[i]; i++)
        if (preload_active[i]->forked)
            preload_active[i]->forked();
}

/* Reads the settings, once, and starts the modes that they name. */
static void start_modes(void)
{
    preload_settings();
    for (int i = 0; preload_active[i]; i++)
        if (preload_active[i]->start)
            preload_active[i]->start();
    pthread_atfork(NULL, NULL, call_in_child);
    atomic_store_explicit(&started, true, memory_order_release);
}

/* Starts the modes, unless they have been started. */
void preload_start(void)
{
    pthread_once(&once, start_modes);
}

/* Finds the library's function at the first call of it, returns it, and stores it in reals for
 * later calls. With depth above 0, modes do not see calls that the search itself makes. */
static void *find_real(unsigned number, const void *caller)
{
    preload_start();
    depth++;
    void *real = preload_resolve(number, caller);
    depth--;
    __atomic_store_n(&reals[number], real, __ATOMIC_RELEASE);
    return real;
}

/* Before a call of the program: fills in f but for the arguments, and returns whether the library's
 * function is to be called; false: a mode has served the call. f->begun counts the modes whose
 * `before` has run. Modes do not see a call that was made within another one. */
bool preload_begin(struct preload_frame *f, unsigned number, const void *caller)
{
    f->number = number;
    f->caller = caller;
    f->begun = 0;
    f->real = __atomic_load_n(&reals[number], __ATOMIC_ACQUIRE);
    if (!PRELOAD_LIKELY(f->real))
        f->real = find_real(number, caller);
    f->outer = depth++ == 0;
    if (!f->outer)
        return true;
    const struct preload_mode *m;
    for (; (m = preload_active[f->begun]) != NULL;) {
        f->begun++;
        if (m->before && !m->before(f))
            return false;
    }
    return true;
}

/* After the call: runs `after` of the modes whose `before` has run, the last of them first. */
void preload_end(struct preload_frame *f)
{
    if (f->outer) {
        while (f->begun > 0) {
            const struct preload_mode *m = preload_active[--f->begun];
            if (m->after)
                m->after(f);
        }
        if (preload_calls[f->number].kind == PRELOAD_KIND_FINALIZE)
            for (int i = 0; preload_active[i]; i++)
                if (preload_active[i]->finish)
                    preload_active[i]->finish(/* at_exit */ false);
    }
    depth--;
}

/* Hides the calls of this thread from modes until preload_leave: the shim makes them itself. Pairs
 * may be nested. */
void preload_enter(void)
{
    depth++;
}

/* Ends what preload_enter has begun. */
void preload_leave(void)
{
    depth--;
}

/* Ends the modes at the end of the process. They were not started if it called no function. */
static __attribute__((destructor)) void end(void)
{
    if (!atomic_load_explicit(&started, memory_order_acquire))
        return;
    depth++;
    for (int i = 0; preload_active[i]; i++)
        if (preload_active[i]->finish)
            preload_active[i]->finish(/* at_exit */ true);
}
