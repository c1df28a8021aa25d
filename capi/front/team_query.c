/*
 * team_query.c: a program's queries about its teams.
 */
#include "team_query.h"

#include "error.h"
#include "query.h"
#include "team_ids.h"
#include "team.h"

/* Implements shmem_team_my_pe: -1 if the handle is not a team. */
int shmemi_team_my_pe(shmem_team_t team, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    return t == NULL ? -1 : t->me;
}

/* Implements shmem_team_n_pes: -1 if the handle is not a team. */
int shmemi_team_n_pes(shmem_team_t team, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    return t == NULL ? -1 : t->n;
}

/* Implements shmem_team_get_config: sets the fields of *config that mask selects. Returns 0, or -1
 * if the handle is not a team. */
int shmemi_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config,
                           const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL)
        return -1;
    if (mask & ~(long)SHMEM_TEAM_NUM_CONTEXTS)
        shmemi_abort(call, "use SHMEM_TEAM_NUM_CONTEXTS or 0", "the mask %#lx has unknown bits",
                     (unsigned long)mask);
    if (mask & SHMEM_TEAM_NUM_CONTEXTS) {
        if (config == NULL)
            shmemi_abort(call, "pass the address of a shmem_team_config_t", "config is NULL");
        config->num_contexts = t->num_contexts;
    }
    return 0;
}

/* Implements shmem_team_translate_pe: the number in team `to` of a PE of team `from`, or -1. */
int shmemi_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to, const char *call)
{
    const struct shmemi_team *a = shmemi_team_of(from, call), *b = shmemi_team_of(to, call);
    if (a == NULL || b == NULL || pe < 0 || pe >= a->n)
        return -1;
    return shmemi_team_rank(b, a->pes[pe]);
}

/* Implements shmem_team_ptr: shmem_ptr for PE pe of a team; NULL if there is no such team or PE. */
void *shmemi_team_ptr(shmem_team_t team, const void *dest, int pe, const char *call)
{
    const struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || pe < 0 || pe >= t->n)
        return NULL;
    return shmemi_ptr(dest, t->pes[pe], call);
}
