/*
 * waitset.h: wait and test over arrays, for the public functions, which are generated. An element i
 * with status[i] other than 0 is excluded; status NULL: none is. values is one value, or one for
 * each element if `each` is set.
 */
#ifndef SHMEMI_WAITSET_H
#define SHMEMI_WAITSET_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* The type as which words are compared; the names end like the functions of until.c. */
enum shmemi_kind { SHMEMI_KIND_i32, SHMEMI_KIND_u32, SHMEMI_KIND_i64, SHMEMI_KIND_u64 };

/* Waits until the comparison has held for every element of the set, once for each. */
void shmemi_wait_all(const void *ivars, size_t nelems, const int *status, int cmp,
                     const void *values, bool each, enum shmemi_kind kind, const char *call);
/* Returns 1 if the comparison holds now for every element of the set, or the set is empty, else 0.
 */
int shmemi_test_all(const void *ivars, size_t nelems, const int *status, int cmp,
                    const void *values, bool each, enum shmemi_kind kind, const char *call);

/* Waits until the comparison holds for an element, and returns its index; SIZE_MAX if the set is
 * empty. */
size_t shmemi_wait_any(const void *ivars, size_t nelems, const int *status, int cmp,
                       const void *values, bool each, enum shmemi_kind kind, const char *call);
/* Returns the index of an element for which the comparison holds now; SIZE_MAX if there is none. */
size_t shmemi_test_any(const void *ivars, size_t nelems, const int *status, int cmp,
                       const void *values, bool each, enum shmemi_kind kind, const char *call);

/* Waits until the comparison holds for an element, writes the indices of all elements for which it
 * then holds, and returns how many they are. */
size_t shmemi_wait_some(const void *ivars, size_t nelems, size_t *indices, const int *status,
                        int cmp, const void *values, bool each, enum shmemi_kind kind,
                        const char *call);
/* Writes the indices of the elements for which the comparison holds now, and returns how many they
 * are. */
size_t shmemi_test_some(const void *ivars, size_t nelems, size_t *indices, const int *status,
                        int cmp, const void *values, bool each, enum shmemi_kind kind,
                        const char *call);

#pragma GCC visibility pop

#endif
