/*
 * process.h: finds processes by number, and reads and writes their memory.
 *
 * PEs may be in PID namespaces of their own, as on hosts that know nothing of each other's
 * processes. They see the /proc around them, which has a number for each.
 */
#ifndef STUB_PROCESS_H
#define STUB_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the number of this process in the namespace of /proc. */
pid_t process_number(void);
/* Returns the number of this process's PID namespace. */
uint64_t process_space(void);

/* Reports whether the process exists, in this process's PID namespace. */
bool process_alive(pid_t pid);

/*
 * Moves up to n bytes between this process and another one's memory, and returns how many, or -1
 * with errno. It keeps the file that it opens in *fd, which begins as -1.
 */
ssize_t process_move(pid_t pid, uint64_t space, int *fd, uint64_t at, void *local, size_t n,
                     bool write);

#endif
