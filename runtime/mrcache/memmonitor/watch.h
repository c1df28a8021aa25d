/*
 * watch.h: reports which memory of this process now has other pages, by userfaultfd.
 */
#ifndef SHMEMI_WATCH_H
#define SHMEMI_WATCH_H

#include <stdint.h>

enum {
    SHMEMI_WATCHERS = 8, /* the most listeners */
    SHMEMI_CHANGES = 256 /* the most unread changes of one; more become one change of all memory */
};

/* Memory from begin up to end that now has other pages, or none. */
struct shmemi_change {
    uint64_t begin, end;
};

/* The first call opens the userfaultfd and starts the thread that reads it. Returns 0, or -errno
 * and in *failed the name of the call that failed. Each call needs a shmemi_watch_close, the last
 * of which ends the thread and closes the descriptor. */
int shmemi_watch_open(const char **failed);
void shmemi_watch_close(void);

/* Watches n bytes, whole pages, from now on. Returns 0, or -errno. */
int shmemi_watch_add(uint64_t begin, uint64_t n);
/* Stops watching n bytes. Returns 0, or -errno. */
int shmemi_watch_remove(uint64_t begin, uint64_t n);

/* Adds a listener, for which changes are recorded from now on. Returns its number, or -1 if there
 * are too many. shmemi_watch_deafen removes it. */
int shmemi_watch_listen(void);
void shmemi_watch_deafen(int listener);

/*
 * Stores the changes since the listener's last call in the array to, and returns how many; if there
 * are more than max, it stores one change of all memory. Returns -1 while a change is under way
 * whose range is not known yet.
 */
int shmemi_watch_changes(int listener, struct shmemi_change *to, int max);

#endif
