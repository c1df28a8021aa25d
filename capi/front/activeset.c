/*
 * activeset.c: the sets of PEs that deprecated collectives name by start, stride
 * and size.
 *
 * Nobody makes or destroys one, so there is no time at which its PEs could agree on
 * a slot. Its messages are counted with the world's: two PEs make their common
 * collectives in the same order, and the messages between them come in that order.
 * The lists of its members are kept until finalize, since programs use few sets and
 * use them often.
 */
#include "coll.h"
#include "remote.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    int start, log_stride, size;
    struct shmemi_team team;
    struct entry *next;
};

static struct entry *entries;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct shmemi_team *make(int start, int log_stride, int size, const char *call)
{
    struct entry *e = calloc(1, sizeof *e);
    int32_t *pes = malloc((size_t)size * sizeof *pes);
    for (int i = 0; pes != NULL && i < size; i++)
        pes[i] = start + i * (1 << log_stride);
    if (e != NULL)
        e->team = (struct shmemi_team){.n = size,
                                       .pes = pes,
                                       .by_pe = true,
                                       .slot = -1,
                                       .inbox = shmemi_world.inbox,
                                       .sent = shmemi_world.sent,
                                       .seen = shmemi_world.seen};
    if (e == NULL || pes == NULL || shmemi_team_place(&e->team) != 0)
        shmemi_abort(call, "free some", "no memory for the list of %d PEs", size);
    e->start = start;
    e->log_stride = log_stride;
    e->size = size;
    e->next = entries;
    entries = e;
    return &e->team;
}

struct shmemi_team *shmemi_active_set(int start, int log_stride, int size, const char *call)
{
    int n = (int)shmemi_state.n_pes;
    if (n == 0)
        shmemi_refuse_uninitialised(call);
    if (start < 0 || log_stride < 0 || log_stride > 30 || size < 1 ||
        start + ((int64_t)size - 1) * ((int64_t)1 << log_stride) >= n)
        shmemi_abort(call, "name PEs that exist",
                     "the active set of %d PEs from %d with a stride of 2^%d is not within %d PEs",
                     size, start, log_stride, n);
    pthread_mutex_lock(&mutex);
    struct entry *e = entries;
    while (e != NULL && (e->start != start || e->log_stride != log_stride || e->size != size))
        e = e->next;
    struct shmemi_team *t = e != NULL ? &e->team : make(start, log_stride, size, call);
    pthread_mutex_unlock(&mutex);
    if (t->me < 0)
        shmemi_abort(call, "call it on the PEs of the set only",
                     "this PE is not in the active set of %d PEs from %d with a stride of 2^%d",
                     size, start, log_stride);
    return t;
}

void shmemi_active_sets_close(void)
{
    for (struct entry *e = entries, *next; e != NULL; e = next) {
        next = e->next;
        shmemi_team_free(&e->team);
        free(e);
    }
    entries = NULL;
}
