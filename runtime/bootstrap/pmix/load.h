/*
 * load.h: calls libpmix, which is loaded at run time, with timeouts.
 *
 * A status is PMIx's: 0 or an error below 0. A forked child may call none of these functions.
 */
#ifndef SHMEMI_PMIX_LOAD_H
#define SHMEMI_PMIX_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { SHMEMI_PMIX_TIMEOUT = -24, SHMEMI_PMIX_NOT_FOUND = -46 };

/* Loads the library from a path or by its name. Returns 0, or -1 and the cause in why. */
int shmemi_pmix_load(const char *file, char *why, size_t len);

/* Joins the job (PMIx_Init): sets the rank of this process, and the size of the job. Returns a
 * status of PMIx. */
int shmemi_pmix_init(uint32_t *rank, uint32_t *size);
/* Leaves the job (PMIx_Finalize). Returns a status of PMIx. */
int shmemi_pmix_finalize(void);

/* Returns PMIx's text for a status. */
const char *shmemi_pmix_text(int status);

/* Puts n bytes under the key and sends them to the server. */
int shmemi_pmix_put(const char *key, const void *bytes, size_t n);

/* An asynchronous call that has been started. The caller frees it once, completed or not. */
struct shmemi_pmix_call;

/* Starts a fence of the job. Returns NULL if there is no memory. */
struct shmemi_pmix_call *shmemi_pmix_fence(void);
/* Starts the get of what a PE has put under a key. Returns NULL if there is no memory. It does not
 * request a refresh, with which libpmix 5.0.7 finds nothing. */
struct shmemi_pmix_call *shmemi_pmix_get(uint32_t rank, const char *key);

/* Waits until a call completes, up to ms milliseconds; below 0: for ever. Returns the call's
 * status, or SHMEMI_PMIX_TIMEOUT. The bytes that a get has found are valid until the call is freed.
 */
int shmemi_pmix_wait(struct shmemi_pmix_call *call, int64_t ms, const void **bytes, size_t *n);
/* Releases the caller's reference to a call. PMIx has one, too; the last one that is released frees
 * the call. */
void shmemi_pmix_free(struct shmemi_pmix_call *call);

/* Requests the end of the job from the launcher, with an exit status. */
void shmemi_pmix_abort(int status);

/* Reports whether the connection to the server is lost. */
int shmemi_pmix_server_lost(void);

/* Returns a socket that becomes readable when the connection to the server is lost, or -1. */
int shmemi_pmix_server_lost_fd(void);

#endif
