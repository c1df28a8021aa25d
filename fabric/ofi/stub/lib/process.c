/*
 * process.c: finds processes by number, and reads and writes their memory.
 */
#define _GNU_SOURCE
#include "process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the number of this process in the namespace of /proc. */
pid_t process_number(void)
{
    static pid_t reader, number; /* number is that of the process reader, and not of its children */
    char text[32];
    if (reader == getpid())
        return number;
    ssize_t n = readlink("/proc/self", text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    number = n > 0 ? (pid_t)atoi(text) : getpid();
    reader = getpid();
    return number;
}

/* Returns the number of this process's PID namespace. */
uint64_t process_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Writes the path of a file of a process in /proc. */
static void path_of(pid_t pid, const char *file, char *path, size_t len)
{
    snprintf(path, len, "/proc/%d/%s", (int)pid, file);
}

/* Reports whether a process lives. */
bool process_alive(pid_t pid)
{
    char path[64];
    path_of(pid, "", path, sizeof path);
    return access(path, F_OK) == 0;
}

/* Moves bytes of another process. In this PID namespace a call by the process's number does that;
 * for one in another namespace its memory file has to be opened. */
ssize_t process_move(pid_t pid, uint64_t space, int *fd, uint64_t at, void *local, size_t n,
                     bool write)
{
    static uint64_t own;
    struct iovec mine = {local, n}, theirs = {(void *)(uintptr_t)at, n};
    char path[64];
    if (own == 0)
        own = process_space();
    if (space == own)
        return write ? process_vm_writev(pid, &mine, 1, &theirs, 1, 0)
                     : process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
    if (*fd < 0) {
        path_of(pid, "mem", path, sizeof path);
        *fd = open(path, O_RDWR | O_CLOEXEC);
    }
    if (*fd < 0)
        return -1;
    return write ? pwrite(*fd, local, n, (off_t)at) : pread(*fd, local, n, (off_t)at);
}
