/*
 * load.h: libmunge, found at run time.
 */
#ifndef SHMEMI_MUNGE_LOAD_H
#define SHMEMI_MUNGE_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Loads the library. On failure why gets the cause. */
int shmemi_munge_load(const char *name, char *why, size_t len);

/* Makes a credential of n bytes that only the user can read. uid -1: all users. Returns 0, and
 * *cred is the caller's to free, or the cause is in why. */
int shmemi_munge_encode(const void *bytes, size_t n, uint32_t uid, char **cred, char *why,
                        size_t len);

/* Reads a credential: the bytes, which are the caller's to free and may be NULL, and the user who
 * made it. */
int shmemi_munge_decode(const char *cred, void **bytes, size_t *n, uint32_t *uid, char *why,
                        size_t len);

#endif
