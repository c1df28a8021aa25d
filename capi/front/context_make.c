/*
 * context_make.c: makes and destroys contexts.
 *
 * An entry of the table is free when its handle is 0. A thread claims one under the mutex, and
 * reads it without the mutex: the program has the handle from the call that made the context. The
 * core numbers its contexts by the index of the entry, so that a job needs only as many of them as
 * there are contexts at a time.
 */
#include "context_make.h"

#include "context.h"
#include "error.h"
#include "front.h"
#include "netlock.h"
#include "team_ids.h"
#include "team.h"

#include <pthread.h>

/* The options that a program may pass. */
enum { OPTIONS = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE };

/* For each entry, how many contexts it has had: the upper bits of the next handle. */
static uint32_t generations[SHMEMI_CONTEXTS];
/* Of generations, and of the search for a free entry. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ making */

/* Returns a new handle for an entry, which no recent context of that entry has had. It is positive:
 * place is not 0, and INT32_MAX masks the sign. The caller has raised the entry's generation. */
static shmem_ctx_t handle_of(uint32_t place)
{
    return (shmem_ctx_t)((generations[place] << SHMEMI_CTX_BITS | place) & INT32_MAX);
}

/* Opens the context of a table entry in the core, so that its operations on the network have counts
 * of their own. Returns the core's number for it, 0 without a network, or SHMEMI_FAILED if there is
 * none. */
static int open_context(uint32_t place, const char *call)
{
    if (!shmemi_state.networked)
        return 0;
    shmemi_net_lock(call);
    int number = shmemi_state.core->context_open(place);
    shmemi_net_unlock();
    return number;
}

/* Makes a context of a team in a free entry of the table, and stores its handle in *ctx. Returns 0,
 * or -1 if no entry is free, or the core has no context left. */
static int make_context(const struct shmemi_team *t, shmem_team_t team, long options,
                        shmem_ctx_t *ctx, const char *call)
{
    int rc = -1;
    pthread_mutex_lock(&mutex);
    uint32_t place = 1; /* 0 is SHMEM_CTX_DEFAULT */
    while (place < SHMEMI_CONTEXTS && shmemi_contexts[place].handle != 0)
        place++;
    int number = place < SHMEMI_CONTEXTS ? open_context(place, call) : SHMEMI_FAILED;
    if (number >= 0) {
        struct shmemi_context *c = &shmemi_contexts[place];
        generations[place]++;
        *c = (struct shmemi_context){.n_pes = t->n,
                                     .pes = team == SHMEM_TEAM_WORLD ? NULL : t->pes,
                                     .number = (uint32_t)number,
                                     .team = team,
                                     .options = options,
                                     .owner = shmemi_this_thread()};
        *ctx = c->handle = handle_of(place);
        rc = 0;
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Implements shmem_team_create_ctx: makes a context whose PEs are numbered as in the team. Returns
 * 0, or -1, with *ctx invalid, if team is no team or make_context fails. */
int shmemi_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    if (options & ~(long)OPTIONS)
        shmemi_abort(call, "use SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE or 0",
                     "the options %#lx have unknown bits", (unsigned long)options);
    if (ctx == NULL)
        shmemi_abort(call, "pass the address of a shmem_ctx_t", "ctx is NULL");
    *ctx = SHMEM_CTX_INVALID;
    return t == NULL ? -1 : make_context(t, team, options, ctx, call);
}

/* Implements shmem_ctx_create: a context of the world team. Returns what shmemi_team_create_ctx
 * returns. */
int shmemi_ctx_create(long options, shmem_ctx_t *ctx, const char *call)
{
    return shmemi_team_create_ctx(SHMEM_TEAM_WORLD, options, ctx, call);
}

/* -------------------------------------------------------------- destroying */

/* Completes the operations of a context, and frees its entry. */
static void destroy_context(struct shmemi_context *c, const char *call)
{
    shmemi_quiet(c->handle, call);
    shmemi_ctx_session_stop(c->handle, call);
    pthread_mutex_lock(&mutex);
    c->handle = 0;
    pthread_mutex_unlock(&mutex);
}

/* Implements shmem_ctx_destroy: completes the operations of a context and frees it. */
void shmemi_ctx_destroy(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (ctx == SHMEM_CTX_INVALID)
        return;
    shmemi_ctx_check_exists(ctx, call);
    if (ctx == SHMEM_CTX_DEFAULT)
        shmemi_abort(call, "destroy only contexts of shmem_ctx_create and shmem_team_create_ctx",
                     "SHMEM_CTX_DEFAULT is always there");
    destroy_context(shmemi_context_at(ctx), call);
}

/* Destroys the contexts of a team or, if all_teams is true, of all teams. Meanwhile other threads
 * may make contexts of other teams. */
static void destroy_contexts_of(shmem_team_t team, bool all_teams, const char *call)
{
    for (uint32_t place = 1; place < SHMEMI_CONTEXTS; place++) {
        struct shmemi_context *c = &shmemi_contexts[place];
        pthread_mutex_lock(&mutex);
        bool meant = c->handle != 0 && (all_teams || c->team == team);
        pthread_mutex_unlock(&mutex);
        if (meant)
            destroy_context(c, call);
    }
}

/* Destroys the contexts of a team. */
void shmemi_ctx_end_team(shmem_team_t team, const char *call)
{
    destroy_contexts_of(team, /* all_teams */ false, call);
}

/* At finalize: destroys all contexts except the default one. */
void shmemi_ctx_end(const char *call)
{
    destroy_contexts_of(SHMEM_TEAM_INVALID, /* all_teams */ true, call);
}

/* At finalize: resets the default context to its state before init. */
void shmemi_ctx_reset(void)
{
    shmemi_contexts[0] = (struct shmemi_context){0};
}

/* ---------------------------------------------------------------- the rest */

/* Implements shmem_ctx_get_team: stores the team of a context. Returns 0, or -1 with an invalid
 * team for SHMEM_CTX_INVALID. */
int shmemi_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (team == NULL)
        shmemi_abort(call, "pass the address of a shmem_team_t", "team is NULL");
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    shmemi_ctx_check_exists(ctx, call);
    *team = shmemi_context_at(ctx)->team;
    return 0;
}

/* Begins a session: with SHMEM_CTX_SESSION_BATCH small operations share messages from the first one
 * on. total_ops is not used: a full message is sent at once, however many operations follow. */
void shmemi_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long mask, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (ctx == SHMEM_CTX_INVALID)
        return;
    shmemi_ctx_check_exists(ctx, call);
    if (mask & SHMEM_CTX_SESSION_TOTAL_OPS && config == NULL)
        shmemi_abort(call, "pass a configuration, or a mask of 0", "config is NULL");
    if (options & SHMEM_CTX_SESSION_BATCH && shmemi_state.networked) {
        shmemi_net_lock(call);
        shmemi_state.core->batch(shmemi_context_at(ctx)->number, /* on */ 1);
        shmemi_net_unlock();
    }
}

/* Ends a session: later small operations of the context share messages only in bursts (many
 * operations without a pause of 2 us). */
void shmemi_ctx_session_stop(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (ctx == SHMEM_CTX_INVALID)
        return;
    shmemi_ctx_check_exists(ctx, call);
    if (shmemi_state.networked) {
        shmemi_net_lock(call);
        shmemi_state.core->batch(shmemi_context_at(ctx)->number, /* on */ 0);
        shmemi_net_unlock();
    }
}
