/*
 * teams.c: the teams of the program, and the contexts that belong to one.
 *
 * Threads read the tables without a lock: an entry is complete before the count includes it, and
 * after that only its flag `dead` changes, once. A handle that the library uses again gets a later
 * entry, and the last entry of a handle is the valid one.
 */
#define _GNU_SOURCE
#include "teams.h"

#include "json.h"
#include "library.h"
#include "output.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MOST 4096 /* teams and contexts of a program, each; further ones have no number */

/* A team or an active set that the program has used. */
struct team {
    uintptr_t handle; /* of an active set: its three numbers, packed (active_set) */
    bool set;         /* it is an active set */
    _Atomic bool dead;
    uint32_t id;    /* the number in the trace */
    int n;          /* the number of PEs in pes */
    int *pes;       /* the members' numbers in the job, by their ranks in the team */
    bool described; /* the writer has written its members to the current file */
};

/* A context of a team other than that of all PEs, whose ranks are not the numbers in the job. */
struct context {
    uintptr_t handle;
    _Atomic bool dead;
    const struct team *team;
};

/* Held while an entry is added to one of the tables. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct team teams[MOST];
static struct context contexts[MOST];
static _Atomic int team_count, context_count;
static bool short_handles; /* handles are numbers of 32 bits, not pointers */
static uintptr_t world;    /* the handle of the team of all PEs */
static int job_pes;        /* the number of PEs */
/* The library's team_n_pes and team_translate_pe. */
static int (*size_of)(uintptr_t), (*translate)(uintptr_t, int, uintptr_t);

/* Returns the handle that a call has passed. Where handles are numbers of 32 bits, the caller may
 * have left the other half of the register undefined, which this removes. */
static uintptr_t handle_of(uintptr_t argument)
{
    return short_handles ? (uint32_t)argument : argument;
}

/* Called after init: finds the library's functions for teams, and the handle of the team of all
 * PEs. Where handles are numbers, that handle is 0. */
void preload_teams_open(const struct preload_frame *f, int npes)
{
    bool nv = preload_calls[f->number].flags & PRELOAD_NVSHMEM;
    job_pes = npes;
    short_handles = preload_library_numbers(f);
    size_of = preload_find(nv ? PRELOAD_nvshmem_team_n_pes : PRELOAD_shmem_team_n_pes, f->caller);
    translate = preload_find(
        nv ? PRELOAD_nvshmem_team_translate_pe : PRELOAD_shmem_team_translate_pe, f->caller);
    if (!short_handles) {
        uintptr_t *named = dlsym(RTLD_DEFAULT, "oshmem_team_world"); /* of Open MPI 5 */
        world = named ? *named : 0;
    }
}

/* Returns the number of a team in traces, from 1 to 2^31 - 1: the FNV-1a hash of its members and of
 * instance, which counts the earlier teams of the same members. 0 is the team of all PEs. */
static uint32_t number_of(const int *pes, int n, int instance)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i <= n; i++) {
        uint32_t part = (uint32_t)(i < n ? pes[i] : -1 - instance);
        for (int byte = 0; byte < 4; byte++, part >>= 8)
            h = (h ^ (part & 0xff)) * 16777619u;
    }
    h &= 0x7fffffff;
    return h ? h : 1;
}

/* Adds a team, or an active set if set is true, to the table, and returns it; NULL if the table is
 * full. The caller has locked `lock`. The table takes over pes, memory of malloc. */
static const struct team *add_locked(uintptr_t handle, bool set, int *pes, int n)
{
    int count = atomic_load(&team_count), instance = 0;
    if (count == MOST) {
        free(pes);
        return NULL;
    }
    for (int i = 0; i < count && !set; i++)
        if (!teams[i].set && teams[i].n == n &&
            memcmp(teams[i].pes, pes, (size_t)n * sizeof *pes) == 0)
            instance++;
    bool whole = set && n == job_pes;
    for (int i = 0; i < n && whole; i++)
        whole = pes[i] == i;
    struct team *t = &teams[count];
    t->handle = handle;
    t->set = set;
    t->pes = pes;
    t->n = n;
    t->id = whole || (!set && handle == world) ? 0 : number_of(pes, n, instance);
    atomic_store_explicit(&team_count, count + 1, memory_order_release);
    return t;
}

/* Returns the living team in the table with a handle, or, if set is true, the active set; NULL if
 * there is none. */
static const struct team *find_team(uintptr_t handle, bool set)
{
    for (int i = atomic_load_explicit(&team_count, memory_order_acquire); i-- > 0;)
        if (teams[i].handle == handle && teams[i].set == set &&
            !atomic_load_explicit(&teams[i].dead, memory_order_relaxed))
            return &teams[i];
    return NULL;
}

/* Adds a team, unless another thread has added it meanwhile, and returns it. Takes over pes, as
 * add_locked. */
static const struct team *add_once(uintptr_t handle, bool set, int *pes, int n)
{
    pthread_mutex_lock(&lock);
    const struct team *t = find_team(handle, set);
    if (t)
        free(pes);
    else
        t = add_locked(handle, set, pes, n);
    pthread_mutex_unlock(&lock);
    return t;
}

/* Returns the team of a handle, or NULL if its PEs are not known. For a handle that is new it
 * queries the library for the PEs, and stores them. */
static const struct team *team_of_handle(uintptr_t handle)
{
    const struct team *t = find_team(handle, /* set */ false);
    if (t || !size_of || !translate)
        return t;
    preload_enter();
    int n = size_of(handle);
    int *pes = n > 0 ? malloc((size_t)n * sizeof *pes) : NULL;
    for (int i = 0; pes && i < n; i++)
        pes[i] = translate(handle, i, world);
    preload_leave();
    return pes ? add_once(handle, /* set */ false, pes, n) : NULL;
}

/* Returns the team of an active set, which is added to the table when it is new. Its key in the
 * table, in the place of a handle, packs the three numbers of the set: start from bit 34 on,
 * log_stride in bits 29 to 33, n below. Returns NULL if a number is out of range. */
static const struct team *active_set(int start, int log_stride, int n)
{
    if (n <= 0 || n > job_pes || log_stride < 0 || log_stride > 30 || start < 0 ||
        start + ((int64_t)(n - 1) << log_stride) >= job_pes)
        return NULL;
    uintptr_t key =
        (uintptr_t)(unsigned)start << 34 | (uintptr_t)(unsigned)log_stride << 29 | (unsigned)n;
    const struct team *t = find_team(key, /* set */ true);
    if (t)
        return t;
    int *pes = malloc((size_t)n * sizeof *pes);
    if (!pes)
        return NULL;
    for (int i = 0; i < n; i++)
        pes[i] = start + (i << log_stride);
    return add_once(key, /* set */ true, pes, n);
}

/* Returns the handle, a number of 32 bits or a pointer, that the library has written to an address.
 */
static uintptr_t handle_at(uintptr_t at)
{
    if (short_handles)
        return *(uint32_t *)at;
    return *(uintptr_t *)at;
}

/* Called after a call that makes teams or a context: stores them, by the letters of its arguments
 * in the table of calls: T is a pointer to a new team, X one to a new context. Contexts of the team
 * of all PEs need no entry. */
void preload_teams_add(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    for (int i = 0; c->letters[i]; i++) {
        if (!f->arg[i])
            continue;
        if (c->letters[i] == 'T')
            team_of_handle(handle_at(f->arg[i]));
        if (c->letters[i] != 'X' || c->team < 0)
            continue;
        const struct team *t = team_of_handle(handle_of(f->arg[c->team]));
        pthread_mutex_lock(&lock);
        int count = atomic_load(&context_count);
        if (t && t->id != 0 && count < MOST) {
            contexts[count].handle = handle_at(f->arg[i]);
            contexts[count].team = t;
            atomic_store_explicit(&context_count, count + 1, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
}

/* Called before a call that destroys a team or context: marks it as dead, since its handle may be
 * used again. After the call it would be too late: another thread may have the handle by then, and
 * its team or context would get the mark. */
void preload_teams_remove(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    f->team = -1;
    if (c->kind == PRELOAD_KIND_TEAM_DESTROY) {
        struct team *t = (struct team *)find_team(handle_of(f->arg[c->team]), /* set */ false);
        if (t) {
            f->team = t->id;
            atomic_store(&t->dead, true);
        }
    }
    if (c->kind == PRELOAD_KIND_CTX_DESTROY)
        for (int i = atomic_load(&context_count); i-- > 0;)
            if (contexts[i].handle == handle_of(f->arg[c->ctx]))
                atomic_store(&contexts[i].dead, true);
}

/* Sets *team to the number of the team or active set that a call names; 0 for a call of all PEs.
 * Returns false if the call names none. */
bool preload_team_of(const struct preload_frame *f, uint32_t *team)
{
    const struct preload_call *c = &preload_calls[f->number];
    const struct team *t = NULL;
    if (c->kind == PRELOAD_KIND_TEAM_DESTROY) { /* the handle is not valid any more */
        *team = (uint32_t)f->team;
        return f->team >= 0;
    }
    if (c->team >= 0) {
        t = team_of_handle(handle_of(f->arg[c->team]));
    } else if (c->kind == PRELOAD_KIND_BARRIER || c->kind == PRELOAD_KIND_SYNC ||
               c->kind == PRELOAD_KIND_COLLECTIVE) {
        const char *start = strchr(c->letters, '1');
        if (!start) {
            *team = 0; /* barrier_all and sync_all */
            return true;
        }
        const uintptr_t *triple = f->arg + (start - c->letters);
        t = active_set((int)triple[0], (int)triple[1], (int)triple[2]);
    }
    if (t)
        *team = t->id;
    return t != NULL;
}

/* Returns the number in the job of the PE that a call names as pe. On a context of a team, pe is a
 * rank in that team. */
int preload_team_pe(const struct preload_frame *f, int pe)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (c->ctx < 0 || atomic_load_explicit(&context_count, memory_order_relaxed) == 0)
        return pe;
    uintptr_t handle = handle_of(f->arg[c->ctx]);
    for (int i = atomic_load_explicit(&context_count, memory_order_acquire); i-- > 0;)
        if (contexts[i].handle == handle &&
            !atomic_load_explicit(&contexts[i].dead, memory_order_relaxed))
            return pe >= 0 && pe < contexts[i].team->n ? contexts[i].team->pes[pe] : pe;
    return pe;
}

/* Writes a metadata event with the PEs of each team that the current part of the file does not
 * describe yet. */
void preload_teams_describe(void)
{
    int count = atomic_load_explicit(&team_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        struct team *t = &teams[i];
        if (t->described)
            continue;
        t->described = true;
        char *text = malloc((size_t)t->n * 12 + 64);
        if (!text)
            continue;
        char *at = JSON_LITERAL(text, "\"team\":");
        at = json_number(at, t->id);
        at = JSON_LITERAL(at, ",\"pes\":[");
        for (int k = 0; k < t->n; k++) {
            if (k)
                *at++ = ',';
            at = json_signed(at, t->pes[k]);
        }
        at = JSON_LITERAL(at, "]");
        *at = '\0';
        preload_output_about("libshmem_team", text);
        free(text);
    }
}

/* Makes preload_teams_describe write the members of all teams again, for a new file. */
void preload_teams_reset(void)
{
    int count = atomic_load(&team_count);
    for (int i = 0; i < count; i++)
        teams[i].described = false;
}
