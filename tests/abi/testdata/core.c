/*
 * core.c: a libshmem_core.so that the front must not use. Its functions are NULL, so that a front
 * that used them would crash.
 */
#include "functions.h"

#ifndef BUILD
#define BUILD "another build"
#endif
#ifndef EXTRA
#define EXTRA 0
#endif

const struct shmemi_core *shmemi_core_table(shmemi_abort_fn *abort_)
{
    (void)abort_;
    static const struct shmemi_core table = {
        .version = SHMEMI_ABI_VERSION,
        .size = sizeof table + EXTRA,
        .state_size = sizeof(struct shmemi_state),
        .build = BUILD,
    };
    return &table;
}
