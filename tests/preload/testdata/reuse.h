/*
 * reuse.h: what reuse.c calls of the library reuse_library.c. Both have one team handle and one
 * context handle, which the library gives to a second thread while the first one is still within
 * the call that destroys its own team or context.
 */
#include <stdatomic.h>
#include <stdint.h>

void shmem_init(void);
void shmem_finalize(void);
int shmem_team_split_strided(int32_t parent, int start, int stride, int size, const void *config,
                             long mask, int32_t *team);
int shmem_team_sync(int32_t team);
void shmem_team_destroy(int32_t team);
int shmem_team_create_ctx(int32_t team, long options, int32_t *ctx);
void shmem_ctx_destroy(int32_t ctx);
void shmem_ctx_long_p(int32_t ctx, long *dest, long value, int pe);

/* How far both threads are: the first one is within the call that destroys its team, the second one
 * has used its own, the first one is within the call that destroys its context, and the second one
 * has used its own. */
enum { TEAM_FREE = 1, TEAM_USED, CONTEXT_FREE, CONTEXT_USED };
extern _Atomic int reuse_step;

/* Waits until both threads are as far as a step. */
static inline void reuse_await(int step)
{
    while (reuse_step < step)
        ;
}
