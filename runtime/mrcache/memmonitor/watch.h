/*
 * watch.h: which memory of this process has got other pages, by userfaultfd.
 */
#ifndef SHMEMI_WATCH_H
#define SHMEMI_WATCH_H

#include <stdint.h>

enum {
    SHMEMI_WATCHERS = 8, /* the most listeners */
    SHMEMI_CHANGES = 256 /* that one may leave unread; then everything has changed */
};

struct shmemi_change {
    uint64_t begin, end;
};

/* Opens the descriptor and starts the thread, once; 0, or -errno and in *failed
 * the call. shmemi_watch_close undoes one open. */
int shmemi_watch_open(const char **failed);
void shmemi_watch_close(void);

/* Reports changes within whole pages from now on; 0, or -errno. */
int shmemi_watch_add(uint64_t begin, uint64_t n);
/* Ends it. */
int shmemi_watch_remove(uint64_t begin, uint64_t n);

/* Keeps changes for one more listener. Returns its number, or -1. */
int shmemi_watch_listen(void);
void shmemi_watch_deafen(int listener);

/*
 * Returns every change that was made before the call, up to max of them: how many, or -1 when a
 * change is being made of memory that is not known. The last may be all memory.
 */
int shmemi_watch_changes(int listener, struct shmemi_change *to, int max);

#endif
