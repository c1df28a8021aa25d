/*
 * base.c: the state of the job, which the core writes and every file of the front reads.
 */
#include "base.h"

struct shmemi_state shmemi_state;
