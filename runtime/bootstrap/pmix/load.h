/*
 * load.h: libpmix, found at run time, behind calls that end.
 *
 * A status is PMIx's: 0 or an error below 0. A forked child may call nothing of this.
 */
#ifndef SHMEMI_PMIX_LOAD_H
#define SHMEMI_PMIX_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { SHMEMI_PMIX_TIMEOUT = -24, SHMEMI_PMIX_NOT_FOUND = -46 };

/* Loads the library from a path or by its name. On failure why gets the cause. */
int shmemi_pmix_load(const char *file, char *why, size_t len);

/* Calls PMIx_Init, and PMIx_Finalize. */
int shmemi_pmix_init(uint32_t *rank, uint32_t *size);
int shmemi_pmix_finalize(void);

/* PMIx's text for a status. */
const char *shmemi_pmix_text(int status);

/* Puts n bytes under the key and hands them to the server. */
int shmemi_pmix_put(const char *key, const void *bytes, size_t n);

/* A call that has begun. Its owner frees it once, answered or not. */
struct shmemi_pmix_call;

/* Begin a fence of the job, and the look-up of a key of a PE. NULL: no memory.
 * A look-up asks for no refresh: with that libpmix 5.0.7 finds nothing. */
struct shmemi_pmix_call *shmemi_pmix_fence(void);
struct shmemi_pmix_call *shmemi_pmix_get(uint32_t rank, const char *key);

/* Waits for the end of a call: its status, or SHMEMI_PMIX_TIMEOUT after ms
 * milliseconds; below 0: for ever. A look-up's bytes stay the call's. */
int shmemi_pmix_wait(struct shmemi_pmix_call *call, int64_t ms, const void **bytes, size_t *n);
void shmemi_pmix_free(struct shmemi_pmix_call *call);

/* Has the launcher end the job. */
void shmemi_pmix_abort(int status);

/* Whether the connection to the server is lost. */
int shmemi_pmix_over(void);

/* A socket whose other end is shut down then, or -1. */
int shmemi_pmix_news(void);

#endif
