/*
 * queue.c: takes, submits and returns operations. NCCL has as many under way as its depth, its
 * contexts and the ranks allow, so their memory grows with use, and none is freed before the coll
 * has ended.
 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 }; /* operations that are allocated together */

/* Operations that were allocated together. They are freed together, when the coll has ended. */
struct chunk {
    struct chunk *next;
    struct shmemi_group_operation operations[CHUNK];
};

/* Makes the set of operations empty. */
void operations_init(struct operations *all)
{
    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
}

/* Frees the memory of all operations, of which none is under way. */
void operations_free(struct operations *all)
{
    for (struct chunk *c = all->chunks; c != NULL;) {
        struct chunk *next = c->next;
        free(c);
        c = next;
    }
    pthread_mutex_destroy(&all->lock);
}

/* Returns a free operation with all members 0, or NULL if there is no memory for one. */
struct shmemi_group_operation *operation_take(struct operations *all)
{
    pthread_mutex_lock(&all->lock);
    if (all->free == NULL) {
        struct chunk *c = calloc(1, sizeof *c);
        if (c != NULL) {
            c->next = all->chunks;
            all->chunks = c;
            for (int i = 0; i < CHUNK; ++i) {
                c->operations[i].next = all->free;
                all->free = &c->operations[i];
            }
        }
    }
    struct shmemi_group_operation *o = all->free;
    if (o != NULL)
        all->free = o->next;
    pthread_mutex_unlock(&all->lock);
    if (o != NULL)
        memset(o, 0, sizeof *o);
    return o;
}

/* Frees an operation that has ended, for a later operation_take. */
void operation_return(struct operations *all, struct shmemi_group_operation *o)
{
    pthread_mutex_lock(&all->lock);
    o->next = all->free;
    all->free = o;
    pthread_mutex_unlock(&all->lock);
}

/* Adds an operation to those that the proxy reads, at the front of a list that is linked by next,
 * from the last submitted operation to the first. The proxy takes the whole list at once, so that
 * no operation in it can be freed and submitted again meanwhile. Returns whether the proxy has to
 * be woken. */
bool operation_submit(struct operations *all, struct shmemi_group_operation *o)
{
    struct shmemi_group_queue *q = &all->queue;
    o->next = __atomic_load_n(&q->last, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&q->last, &o->next, o, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
        ;
    /* The proxy stores asleep and then reads last; here last is stored and then asleep read. As all
     * four are sequentially consistent, the proxy finds the operation or this thread wakes it. */
    return __atomic_load_n(&q->asleep, __ATOMIC_SEQ_CST) != 0;
}
