/* collective_arguments.h: checks of what the members of a team pass to a collective, under
 * SHMEM_CHECKS=full. */
#ifndef SHMEMI_COLLECTIVE_ARGUMENTS_H
#define SHMEMI_COLLECTIVE_ARGUMENTS_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Under full checks, ends the job if the arrays overlap, unless both begin at the same address and
 * may_be_same is true. */
void shmemi_coll_check_overlap(const void *dest, size_t nd, const void *source, size_t ns,
                               bool may_be_same, const char *call);

/* Under full checks, ends the job if the members make different calls or pass different arguments.
 * All members call it, because it exchanges the arguments. An address that is NULL, or not
 * symmetric, equals only another such one. other is one more argument to compare, and `what` its
 * name; 0 and "" if there is none. */
void shmemi_coll_check_arguments(struct shmemi_team *t, const void *dest, const void *source,
                                 size_t nbytes, const char *what, int64_t other, const char *call);

#pragma GCC visibility pop

#endif
