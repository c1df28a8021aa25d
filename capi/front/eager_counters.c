/*
 * eager_counters.c: allocates the notification counters of eager transfers.
 */
#include "eager_counters.h"

#include <string.h>

/* For each counter that the 16 bits of immediate data can name: 1 if it is in use. The first
 * eager_counters elements count; they are at most the array's. */
static uint8_t taken[UINT16_MAX];
static bool used; /* some counter has been allocated */

/* At init: marks all counters of eager transfers as free. */
void shmemi_eager_counters_open(void)
{
    if (used) /* else the table's pages are untouched */
        memset(taken, 0, sizeof taken);
    used = false;
}

/* Returns the first of n consecutive counters that are free, for n slots whose tokens are counted,
 * or -1 if there are no n. n is at least 1. */
static int64_t find_free_run(size_t n)
{
    size_t run = 0;
    for (uint32_t i = 0; i < shmemi_state.eager_counters; i++) {
        run = taken[i] ? 0 : run + 1;
        if (run == n)
            return (int64_t)(i + 1 - n);
    }
    return -1;
}

/* Reports whether n consecutive counters are free. */
bool shmemi_eager_counters_left(size_t n)
{
    return find_free_run(n) >= 0;
}

/* Allocates n consecutive counters and sets them to 0; false if no n in a row are free. Stores in
 * *first the number of the first one: counter i of eager transfers is the notification counter
 * notify_count + i, as the program's come first. All PEs make the same calls in the same order, so
 * the numbers are the same on every PE. */
bool shmemi_eager_counters_allocate(size_t n, uint32_t *first, const char *call)
{
    int64_t at = find_free_run(n);
    if (at < 0)
        return false;
    shmemi_notification_zero((int)shmemi_state.notify_count + (int)at, (int)n, call);
    memset(taken + at, 1, n);
    used = true;
    *first = (uint32_t)at;
    return true;
}

/* Frees the n counters from `first` on, which shmemi_eager_counters_allocate has returned, when
 * their slots are destroyed. */
void shmemi_eager_counters_free(uint32_t first, size_t n)
{
    memset(taken + first, 0, n);
}
