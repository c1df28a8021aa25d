/* modules.h: copies the state of the job to kernels in modules that the program loads itself. */
#ifndef SHMEMI_MODULES_H
#define SHMEMI_MODULES_H

#include "base.h"

#pragma GCC visibility push(hidden)

struct CUmod_st;
struct CUlib_st;

/* Each implements the shmemx call of its name. They return 0, or non-zero after a message; code of
 * NVIDIA's archive gets NVSHMEM's status then. */
int shmemi_cumodule_init(struct CUmod_st *module, const char *call);
int shmemi_cumodule_finalize(struct CUmod_st *module, const char *call);
int shmemi_culibrary_init(struct CUlib_st *library, const char *call);
int shmemi_culibrary_finalize(struct CUlib_st *library, const char *call);

/* At finalize: clears the job's state in the modules and libraries that the program has loaded.
 * reset: the program has reset the GPU, so that they are no longer loaded. */
void shmemi_modules_end(bool reset);

#pragma GCC visibility pop

#endif
