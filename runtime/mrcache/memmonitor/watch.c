/*
 * watch.c: the userfaultfd descriptor, the thread that reads it, and the changes that it records.
 *
 * A thread that unmaps watched memory waits in the kernel until the kernel's message about the
 * change has been read. So the reading thread runs C code: a goroutine would first need a processor
 * of Go's scheduler, which a proxy may keep for milliseconds. The reading thread locks only
 * watch.lock, which no thread holds during a call that could unmap memory.
 */
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* A Watch of package memmonitor, with the changes that it has not read yet. */
struct listener {
    bool used;
    uint32_t unread; /* 1: there are changes; read without the lock */
    int count;       /* of the changes */
    struct shmemi_change changes[SHMEMI_CHANGES];
};

static struct {
    pthread_mutex_t lifecycle; /* around open and close */
    int opens;                 /* calls of open without a close */
    int fd, stop; /* the userfaultfd, and an eventfd that ends the thread; -1: not open */
    pthread_t thread;
    uint32_t reading;     /* 1: the thread may have read a message that no listener has yet */
    pthread_mutex_t lock; /* around the listeners; the thread reads with it held */
    struct listener listeners[SHMEMI_WATCHERS];
} watch = {.lifecycle = PTHREAD_MUTEX_INITIALIZER,
           .lock = PTHREAD_MUTEX_INITIALIZER,
           .fd = -1,
           .stop = -1};

/* Records a change for each listener. If a listener's array of unread changes is full, one change
 * of all memory replaces them. */
static void report_unmapped(uint64_t begin, uint64_t end)
{
    for (int i = 0; i < SHMEMI_WATCHERS; i++) {
        struct listener *l = &watch.listeners[i];
        if (!l->used)
            continue;
        if (l->count < SHMEMI_CHANGES) {
            l->changes[l->count++] = (struct shmemi_change){begin, end};
        } else {
            l->changes[0] = (struct shmemi_change){0, UINT64_MAX};
            l->count = 1;
        }
        __atomic_store_n(&l->unread, 1, __ATOMIC_RELEASE);
    }
}

/* Reads one message of the kernel and reports its change. Returns false if there is none. */
static bool read_message(void)
{
    struct uffd_msg m;
    if (read(watch.fd, &m, sizeof m) != (ssize_t)sizeof m)
        return false;
    if (m.event == UFFD_EVENT_UNMAP || m.event == UFFD_EVENT_REMOVE) {
        report_unmapped(m.arg.remove.start, m.arg.remove.end); /* both kinds have the range there */
    } else if (m.event == UFFD_EVENT_REMAP) {
        report_unmapped(m.arg.remap.from, m.arg.remap.from + m.arg.remap.len);
        /* The kernel watches moved pages at their new address, too, where no Watch needs it. */
        shmemi_watch_remove(m.arg.remap.to, m.arg.remap.len);
    }
    return true;
}

/* Function of the thread that reads the kernel's messages about unmapped memory. It ends when
 * shmemi_watch_close writes to watch.stop. */
static void *run(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "shmem-unmapped");
    for (;;) {
        struct pollfd p[] = {{watch.fd, POLLIN, 0}, {watch.stop, POLLIN, 0}};
        if (poll(p, 2, -1) < 0)
            continue;
        pthread_mutex_lock(&watch.lock);
        __atomic_store_n(&watch.reading, 1, __ATOMIC_SEQ_CST);
        while (read_message())
            ;
        __atomic_store_n(&watch.reading, 0, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&watch.lock);
        if (p[1].revents)
            return NULL;
    }
}

/* Closes the descriptors in a forked child. If a child kept them open, the kernel would go on to
 * send messages after the parent has closed its own, and no thread would read them. */
static void close_in_child(void)
{
    if (watch.fd >= 0)
        close(watch.fd);
    if (watch.stop >= 0)
        close(watch.stop);
    watch.fd = watch.stop = -1;
    watch.opens = 0;
}

/* Opens the descriptors and starts the reading thread. Returns 0, or -errno and in *failed the name
 * of the call that failed. */
static int start(const char **failed)
{
    static bool registered;
    /* Without UFFD_USER_MODE_ONLY, which came with Linux 5.11, only root gets a descriptor. Older
     * kernels refuse the flag, and then there is no watch. From 5.11 on, a forked child gets copies
     * of pinned pages, so that this process keeps the pages that a NIC has registered. */
    *failed = "userfaultfd";
    watch.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (watch.fd < 0)
        return -errno;
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                         UFFD_FEATURE_EVENT_REMOVE |
                                         UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    *failed = "UFFDIO_API";
    if (ioctl(watch.fd, UFFDIO_API, &api) != 0)
        return -errno;
    *failed = "eventfd";
    watch.stop = eventfd(0, EFD_CLOEXEC);
    if (watch.stop < 0)
        return -errno;
    *failed = "pthread_atfork";
    if (!registered && pthread_atfork(NULL, NULL, close_in_child) != 0)
        return -ENOMEM;
    registered = true;
    /* The thread starts with all signals blocked, so that the program's handlers run elsewhere. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *failed = "pthread_create";
    int rc = pthread_create(&watch.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

/* Closes the descriptors of the watch. */
static void close_all(void)
{
    if (watch.fd >= 0)
        close(watch.fd);
    if (watch.stop >= 0)
        close(watch.stop);
    watch.fd = watch.stop = -1;
}

/* Starts the thread that watches memory, unless it runs already; each call needs a
 * shmemi_watch_close. Returns 0, or a negative error of the call that *failed names. */
int shmemi_watch_open(const char **failed)
{
    int rc = 0;
    pthread_mutex_lock(&watch.lifecycle);
    if (watch.opens == 0 && (rc = start(failed)) != 0)
        close_all();
    else
        watch.opens++;
    pthread_mutex_unlock(&watch.lifecycle);
    return rc;
}

/* Ends the thread, if this is the last of the calls that pair with those of shmemi_watch_open. */
void shmemi_watch_close(void)
{
    pthread_mutex_lock(&watch.lifecycle);
    if (watch.opens > 0 && --watch.opens == 0) {
        const uint64_t one = 1;
        while (write(watch.stop, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(watch.thread, NULL);
        close_all();
    }
    pthread_mutex_unlock(&watch.lifecycle);
}

/* Begins the watch over n bytes, by a registration with a userfaultfd, so that the kernel reports
 * when their pages change. The mode is write protection, but no page is ever protected, so that no
 * access waits. Returns 0 or a negative errno. */
int shmemi_watch_add(uint64_t begin, uint64_t n)
{
    struct uffdio_register r = {.range = {begin, n}, .mode = UFFDIO_REGISTER_MODE_WP};
    return ioctl(watch.fd, UFFDIO_REGISTER, &r) == 0 ? 0 : -errno;
}

/* Ends the watch over n bytes. Returns 0 or a negative errno. */
int shmemi_watch_remove(uint64_t begin, uint64_t n)
{
    struct uffdio_range r = {begin, n};
    return ioctl(watch.fd, UFFDIO_UNREGISTER, &r) == 0 ? 0 : -errno;
}

/* Adds a listener, for which changes are recorded from now on. Returns its number, or -1 if there
 * are too many. */
int shmemi_watch_listen(void)
{
    int found = -1;
    pthread_mutex_lock(&watch.lock);
    for (int i = 0; i < SHMEMI_WATCHERS && found < 0; i++) {
        if (!watch.listeners[i].used) {
            memset(&watch.listeners[i], 0, sizeof watch.listeners[i]);
            watch.listeners[i].used = true;
            found = i;
        }
    }
    pthread_mutex_unlock(&watch.lock);
    return found;
}

/* Removes a listener. */
void shmemi_watch_deafen(int listener)
{
    pthread_mutex_lock(&watch.lock);
    watch.listeners[listener].used = false;
    pthread_mutex_unlock(&watch.lock);
}

/*
 * Copies the recorded changes of memory to `to` and returns their number. If there are more than
 * max, it stores one change of all memory instead. It returns -1 if some changes may not be
 * recorded yet.
 *
 * The kernel raises a counter before each change, and lowers it when the message has been read and
 * the thread that makes the change continues. While the counter is not 0, UFFDIO_WRITEPROTECT
 * returns EAGAIN; otherwise it returns EINVAL in this call, because of the range of 0 bytes. So
 * without EAGAIN the messages of all earlier changes have been read, and are recorded unless the
 * reading thread has set `reading`.
 */
int shmemi_watch_changes(int listener, struct shmemi_change *to, int max)
{
    struct listener *l = &watch.listeners[listener];
    struct uffdio_writeprotect none = {.range = {0, 0}};
    if (ioctl(watch.fd, UFFDIO_WRITEPROTECT, &none) == 0 || errno != EINVAL)
        return -1;
    if (!__atomic_load_n(&watch.reading, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&l->unread, __ATOMIC_ACQUIRE))
        return 0;
    pthread_mutex_lock(&watch.lock);
    int n = l->count < max ? l->count : max;
    if (n < l->count) {
        to[0] = (struct shmemi_change){0, UINT64_MAX};
        n = 1;
    } else {
        memcpy(to, l->changes, (size_t)n * sizeof *to);
    }
    l->count = 0;
    l->unread = 0;
    pthread_mutex_unlock(&watch.lock);
    return n;
}
