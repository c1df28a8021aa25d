/*
 * load.h: calls libmunge, which is loaded at run time.
 */
#ifndef SHMEMI_MUNGE_LOAD_H
#define SHMEMI_MUNGE_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Loads the library. Returns 0, or -1 and the cause in why. */
int shmemi_munge_load(const char *name, char *why, size_t len);

/* Makes a credential of n bytes that only the user uid can read; -1: all users. Returns 0, and in
 * *cred the credential, which the caller frees; or -1 and the cause in why. */
int shmemi_munge_encode(const void *bytes, size_t n, uint32_t uid, char **cred, char *why,
                        size_t len);

/* Reads a credential: its bytes, which the caller frees and which may be NULL, and the user who
 * made it. Returns 0, or -1 and the cause in why. */
int shmemi_munge_decode(const char *cred, void **bytes, size_t *n, uint32_t *uid, char *why,
                        size_t len);

#endif
