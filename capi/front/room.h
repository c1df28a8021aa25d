/* room.h: whether the process can have what the Go half needs. */
#ifndef SHMEMI_ROOM_H
#define SHMEMI_ROOM_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Whether path, which holds the Go half, can be started in this process, under its limits;
 * if not, error says what is in the way and what to do. */
int shmemi_room_for(const char *path, char *error, size_t size);

#pragma GCC visibility pop

#endif
