/*
 * queue.h: the operations of a coll on their way to the group's proxy, and the memory for them.
 */
#ifndef SHMEMI_RMA_QUEUE_H
#define SHMEMI_RMA_QUEUE_H

#include "zz_group.h"

#include <pthread.h>
#include <stdbool.h>

struct chunk;

/* The memory for the operations of a coll. */
struct operations {
    struct shmemi_group_queue queue;     /* submitted operations, which the proxy reads */
    pthread_mutex_t lock;                /* of the members below */
    struct shmemi_group_operation *free; /* linked by next */
    struct chunk *chunks;                /* all memory, which operations_free frees */
};

/* Makes an empty set of operations, in memory of any contents. */
void operations_init(struct operations *all);

/* Frees all operations. None is under way. */
void operations_free(struct operations *all);

/* Returns a free operation with all members 0, or NULL if there is no memory. Any thread may call
 * this and the functions below. */
struct shmemi_group_operation *operation_take(struct operations *all);

/* Frees an operation that has ended, for a later operation_take. */
void operation_return(struct operations *all, struct shmemi_group_operation *o);

/* Submits an operation. Returns whether the proxy sleeps and has to be woken. */
bool operation_submit(struct operations *all, struct shmemi_group_operation *o);

#endif
