/*
 * team_ask.c: what a program asks of its teams.
 */
#include "below.h"
#include "error.h"
#include "front.h"
#include "slots.h"
#include "spell.h"
#include "team.h"
#include "teams.h"

/* A handle of another library is a pointer or a small number, which no team that was made has
 * here. */
void shmemi_team_refuse(shmem_team_t team, bool known, const char *call)
{
    if (known && team >> SHMEMI_TEAM_BITS > 0)
        shmemi_abort(call, "use its handle before shmem_team_destroy only", "team %d was destroyed",
                     (int)team);
    shmemi_abort(call,
                 shmemi_is_nvshmem()
                     ? "pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or what a split of this library "
                       "has made"
                     : "pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or what a split has made",
                 "team %d does not exist", (int)team);
}

int shmemi_team_barrier(shmem_team_t team, const char *call)
{
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    return shmemi_team_sync(team, call);
}

int shmemi_team_my_pe(shmem_team_t team, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    return t == NULL ? -1 : t->me;
}

int shmemi_team_n_pes(shmem_team_t team, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    return t == NULL ? -1 : t->n;
}

int shmemi_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config,
                           const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL)
        return -1;
    if (mask & ~(long)SHMEM_TEAM_NUM_CONTEXTS)
        shmemi_abort(call, "use SHMEM_TEAM_NUM_CONTEXTS or 0",
                     "the mask %#lx has bits that mean nothing", (unsigned long)mask);
    if (mask & SHMEM_TEAM_NUM_CONTEXTS) {
        if (config == NULL)
            shmemi_abort(call, "pass where the answer goes", "config is NULL");
        config->num_contexts = t->num_contexts;
    }
    return 0;
}

int shmemi_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to, const char *call)
{
    const struct shmemi_team *a = shmemi_team_of(from, call), *b = shmemi_team_of(to, call);
    if (a == NULL || b == NULL || pe < 0 || pe >= a->n)
        return -1;
    return shmemi_team_rank(b, a->pes[pe]);
}

void *shmemi_team_ptr(shmem_team_t team, const void *dest, int pe, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || pe < 0 || pe >= t->n)
        return NULL;
    return shmemi_ptr(dest, t->pes[pe], call);
}
