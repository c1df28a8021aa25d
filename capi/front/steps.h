/* steps.h: plans the steps in which the PEs of a node exchange lines (lines.h). */
#ifndef SHMEMI_STEPS_H
#define SHMEMI_STEPS_H

#include "base.h"

#pragma GCC visibility push(hidden)

enum {
    SHMEMI_MAX_STEPS = 8, /* the most steps of a plan */
    SHMEMI_LINE_SETS = 2, /* used alternately by consecutive exchanges */
    SHMEMI_LINES = SHMEMI_LINES_BYTES / SHMEMI_CACHE_LINE / SHMEMI_LINE_SETS, /* of a set */
};

/* The numbers of the first lines (cache lines with a contribution each) of a set: the contribution
 * of a PE that takes no part in the steps, the result for that PE, and the data that the first PE
 * of the node sends to all. The lines of the steps follow: for each step one from each other PE of
 * the group. */
enum { SHMEMI_LINE_GIVEN, SHMEMI_LINE_RESULT, SHMEMI_LINE_SPREAD, SHMEMI_LINES_OF_STEPS };

/* A step, as one PE sees it: the members of its group are PE first, first + stride, and so on, and
 * the PE is the digit-th of them. */
struct shmemi_step {
    uint32_t first, stride;
    uint8_t size, digit; /* size: how many PEs the group has */
    uint8_t line;        /* the first line that others of the group write at this PE */
};

/* The plan of one PE. The first `whole` PEs take part in all steps. Each PE beyond them sends its
 * contribution to one of them before the steps, and gets the result from it afterwards. */
struct shmemi_steps {
    uint32_t whole;
    uint32_t n; /* how many steps */
    struct shmemi_step step[SHMEMI_MAX_STEPS];
};

/* Returns the steps of PE `me` of n PEs on a node. At least half of the PEs take part in all steps.
 */
struct shmemi_steps shmemi_plan_steps(uint32_t n, uint32_t me);

#pragma GCC visibility pop

#endif
