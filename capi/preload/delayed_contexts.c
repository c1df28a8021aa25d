/*
 * delayed_contexts.c: the contexts of the program, so that a delayed put is completed by calls on
 * its own context and sent by a thread that may use that context.
 *
 * A library uses a handle again after its context is destroyed, so each context has a number here
 * that no other one gets. 0 is the default context, and stands also for a context that the program
 * has made in a way that bypasses the shim.
 */
#define _GNU_SOURCE
#include "delayed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The options SERIALIZED and PRIVATE; each library has these two bits, in one order or the other.
 */
#define ONE_THREAD 3

/* A context that the program has made. */
struct context {
    uintptr_t handle, team; /* team: the handle of its team; NO_TEAM: of all PEs */
    unsigned number;
    bool one_thread; /* threads may not use it at the same time */
    bool ending;     /* a call that destroys it has begun */
};

#define NO_TEAM UINTPTR_MAX

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct context *contexts; /* those that are not destroyed; guarded by the lock */
static size_t count, room;       /* entries in use, and allocated */
static unsigned last_number;     /* of a context; the next one gets the number after it */
static bool short_handles;       /* handles are numbers of 32 bits, not pointers */

/* Called after init: stores whether handles are numbers of 32 bits. */
void delayed_contexts_open(bool numbers)
{
    pthread_mutex_lock(&mutex);
    short_handles = numbers;
    pthread_mutex_unlock(&mutex);
}

/* Called after finalize, which destroys the contexts: forgets them. */
void delayed_contexts_close(void)
{
    pthread_mutex_lock(&mutex);
    count = 0;
    pthread_mutex_unlock(&mutex);
}

/* Returns a handle without what the caller has left in the other half of the register. */
static uintptr_t handle_of(uintptr_t argument)
{
    return short_handles ? (uint32_t)argument : argument;
}

/* Returns the context in the table with a handle, or NULL. The caller has locked `mutex`. */
static struct context *find_locked(uintptr_t handle)
{
    for (size_t i = count; i-- > 0;)
        if (contexts[i].handle == handle)
            return &contexts[i];
    return NULL;
}

/* Stores the context that a call has made. A mode may have stored the same one already. The letters
 * f and X of the table of calls are the options, and the address of the handle. */
static void add_made(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    uintptr_t options = f->arg[strchr(c->letters, 'f') - c->letters];
    uintptr_t at = f->arg[strchr(c->letters, 'X') - c->letters];
    uintptr_t handle = short_handles ? *(uint32_t *)at : *(uintptr_t *)at;
    pthread_mutex_lock(&mutex);
    struct context *x = find_locked(handle);
    if (!x && count == room) {
        room = room ? 2 * room : 16;
        contexts = realloc(contexts, room * sizeof *contexts);
        if (!contexts)
            preload_refuse("%s: no memory to note the context (the process has none left)",
                           preload_name(f->number));
    }
    if (!x)
        x = &contexts[count++];
    *x = (struct context){.handle = handle,
                          .team = c->team >= 0 ? handle_of(f->arg[c->team]) : NO_TEAM,
                          .number = ++last_number,
                          .one_thread = (options & ONE_THREAD) != 0};
    pthread_mutex_unlock(&mutex);
}

/* Reports whether a call is of a kind that destroys contexts. */
static bool may_destroy(const struct preload_frame *f)
{
    unsigned kind = preload_calls[f->number].kind;
    return kind == PRELOAD_KIND_CTX_DESTROY || kind == PRELOAD_KIND_TEAM_DESTROY;
}

/* Reports whether a call of such a kind, which destroys contexts, destroys this one. */
static bool destroys(const struct preload_frame *f, const struct context *x)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (c->kind == PRELOAD_KIND_CTX_DESTROY)
        return x->handle == handle_of(f->arg[c->ctx]);
    return x->team == handle_of(f->arg[c->team]);
}

/* Called before each call: marks the contexts that it will destroy. Another thread may get a handle
 * of theirs before this thread returns from the call; that entry then has no mark. */
void delayed_contexts_before(const struct preload_frame *f)
{
    if (!may_destroy(f))
        return;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++)
        contexts[i].ending |= destroys(f, &contexts[i]);
    pthread_mutex_unlock(&mutex);
}

/* Called after each call: stores the context that it has made, and removes the marked ones that it
 * has destroyed. */
void delayed_contexts_after(const struct preload_frame *f)
{
    if (preload_calls[f->number].kind == PRELOAD_KIND_CTX && *(const int *)f->result == 0)
        add_made(f);
    if (!may_destroy(f))
        return;
    pthread_mutex_lock(&mutex);
    for (size_t i = count; i-- > 0;)
        if (contexts[i].ending && destroys(f, &contexts[i]))
            contexts[i] = contexts[--count];
    pthread_mutex_unlock(&mutex);
}

/* Writes to a put the number of the context on which its call was made, and what sending it
 * depends on. */
void delayed_contexts_fill(struct delayed *d, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    d->context = 0;
    d->team = NO_TEAM;
    d->one_thread = false;
    if (c->ctx < 0)
        return;
    pthread_mutex_lock(&mutex);
    const struct context *x = find_locked(handle_of(f->arg[c->ctx]));
    if (x) {
        d->context = x->number;
        d->team = x->team;
        d->one_thread = x->one_thread;
    }
    pthread_mutex_unlock(&mutex);
}

/* Returns the number of the context that a call names, and 0 for the default context, which also a
 * call without a context names. */
static unsigned context_of(const struct preload_frame *f)
{
    struct delayed of_call;
    delayed_contexts_fill(&of_call, f);
    return of_call.context;
}

/* Reports whether a call is on the context of a put. No put is on SHMEM_CTX_INVALID, which is -1
 * where handles are numbers; where they are pointers, it is taken for the default context. */
bool delayed_on_context(const struct delayed *d, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (c->ctx >= 0 && short_handles && (uint32_t)f->arg[c->ctx] == UINT32_MAX)
        return false;
    return d->context == context_of(f);
}

/* Reports whether a put and a call have PE numbers of the same team: they are on one context, or
 * neither is on the context of a team. */
bool delayed_same_team(const struct delayed *d, const struct preload_frame *f)
{
    struct delayed of_call;
    delayed_contexts_fill(&of_call, f);
    return d->context == of_call.context || (d->team == NO_TEAM && of_call.team == NO_TEAM);
}

/* Reports whether a call completes a put, by OpenSHMEM 1.6: a quiet completes the operations of one
 * context; barriers, a release of a lock and calls that allocate or free do what a quiet of the
 * default context does; the destruction of a context completes its operations, that of a team
 * destroys the team's contexts, and finalize all. */
bool delayed_completes(const struct delayed *d, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    switch (c->kind) {
    case PRELOAD_KIND_QUIET:
        return delayed_on_context(d, f) && (c->pe < 0 || preload_pe(f) == d->pe);
    case PRELOAD_KIND_CTX_DESTROY:
        return d->context != 0 && delayed_on_context(d, f);
    case PRELOAD_KIND_BARRIER:
    case PRELOAD_KIND_UNLOCK:
    case PRELOAD_KIND_ALLOC:
    case PRELOAD_KIND_REALLOC:
    case PRELOAD_KIND_FREE:
        return d->context == 0;
    case PRELOAD_KIND_TEAM_DESTROY:
        return d->team != NO_TEAM && d->team == handle_of(f->arg[c->team]);
    case PRELOAD_KIND_FINALIZE:
        return true;
    default:
        return false;
    }
}

/* Reports whether this thread, in a call of the program, may send a put. On a context that threads
 * may not use at the same time, only the thread of the put, and a call that is made on the context
 * or completes the put. */
bool delayed_may_send(const struct delayed *d, const struct preload_frame *f)
{
    return !d->one_thread || pthread_equal(d->thread, pthread_self()) || delayed_on_context(d, f) ||
           delayed_completes(d, f);
}

/* In the child of a fork: forgets the contexts, which are the parent's. */
void delayed_contexts_forked(void)
{
    pthread_mutex_init(&mutex, NULL);
    count = 0;
}
