/*
 * context_make.h: implements the functions that create, query and destroy contexts.
 */
#ifndef SHMEMI_CONTEXT_MAKE_H
#define SHMEMI_CONTEXT_MAKE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmem call of its name, with its results. The functions that return int
 * return 0, or -1. */
int shmemi_ctx_create(long options, shmem_ctx_t *ctx, const char *call);
int shmemi_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx, const char *call);
void shmemi_ctx_destroy(shmem_ctx_t ctx, const char *call);
int shmemi_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team, const char *call);
void shmemi_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long mask,
                              const char *call);
void shmemi_ctx_session_stop(shmem_ctx_t ctx, const char *call);

/* Destroys the contexts of a team, before its slot in the table of teams is free for another. */
void shmemi_ctx_end_team(shmem_team_t team, const char *call);

/* At finalize: completes the operations of all contexts but the default one, and destroys these. */
void shmemi_ctx_end(const char *call);
/* At finalize, when no operation can be under way any more: resets the default context to its state
 * before init. */
void shmemi_ctx_reset(void);

#pragma GCC visibility pop

#endif
