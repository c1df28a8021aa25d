/* room.h: whether the limits of the process leave what the Go half needs. */
#ifndef SHMEMI_ROOM_H
#define SHMEMI_ROOM_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Whether path, which holds the Go half, can be started under the limits of this process;
 * if not, error says which limit is in the way and how to raise it. */
int shmemi_room_for(const char *path, char *error, size_t size);

#pragma GCC visibility pop

#endif
