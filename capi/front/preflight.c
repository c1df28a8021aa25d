/*
 * preflight.c: tests for address space, threads, descriptors and system calls before the Go half is
 * loaded.
 *
 * A Go runtime that lacks one of these at its start ends the process with a stack trace, without an
 * error that a caller could report. So this file allocates the same resources first, and frees them
 * again.
 */
#define _GNU_SOURCE
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Address space that has to be free for the Go runtime. With less, its start may fail and end the
 * process with a trace: it first reserves half a gigabyte at once, and less if that fails. With Go
 * 1.26 on amd64 every start failed below a limit of 840,000 KiB and from 1,250,000 to 1,300,000,
 * most around 1,500,000, some around 1,650,000, none of 125 from 1,700,000 on.
 */
#define SPACE_MIB 1664UL

/*
 * Threads that have to be free: Go 1.26 starts five when it is loaded, and a PE that uses a network
 * starts three more. To start THREADS threads and join them took 0.3 ms.
 */
#define THREADS 8

/*
 * Descriptors that have to be free. The Go runtime has four open all the time, and ends the process
 * if it cannot open them. A PE that shares memory has five more, and opens other files during init.
 */
#define FILES 12

/* Callback of dl_iterate_phdr: counts the loaded objects. Returns 0, so that all are passed. */
static int count(struct dl_phdr_info *object, size_t size, void *n)
{
    (void)object;
    (void)size;
    ++*(int *)n;
    return 0;
}

/*
 * Reports whether the process has a C library that works. In a statically linked program dlopen
 * loads a second C library, which is never initialised: its loader has no list of loaded objects,
 * and its pthread_create crashes on lists that do not exist.
 */
static int has_libc(const char *path, char *error, size_t size)
{
    int objects = 0;
    dl_iterate_phdr(count, &objects);
    if (objects > 0)
        return 1;
    snprintf(error, size,
             "%s cannot be loaded: the program is linked statically, and the C library that it got "
             "with libshmem.so can start no threads (link it without -static and -static-pie)",
             path);
    return 0;
}

/* Reports whether the address space that Go needs is free, if the process has a limit. */
static int has_space(const char *path, char *error, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 1;
    void *probe =
        mmap(NULL, SPACE_MIB << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe != MAP_FAILED) {
        munmap(probe, SPACE_MIB << 20);
        return 1;
    }
    snprintf(error, size,
             "%s cannot be loaded: it needs %lu MiB of address space, and RLIMIT_AS of %llu MiB "
             "does not leave as much (raise the limit with ulimit -v)",
             path, SPACE_MIB, (unsigned long long)limit.rlim_cur >> 20);
    return 0;
}

/* Reports whether errno `why` is one with which a sandbox (seccomp) refuses a system call. */
static int forbidden(int why)
{
    return why == EPERM || why == EACCES || why == ENOSYS;
}

/* Writes an error about a system call that is not allowed. Returns 0. */
static int refuse_call(const char *path, const char *call, int why, char *error, size_t size)
{
    snprintf(error, size,
             "%s cannot be loaded: it needs the system call %s, which fails: %s (have the "
             "container or its seccomp profile allow %s)",
             path, call, strerror(why), call);
    return 0;
}

/* Held by has_threads while it creates test threads. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Function of a test thread: it ends when all test threads have been created, because all have to
 * exist at the same time. */
static void *wait_at_gate(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return unused;
}

/* Starts a test thread with a small stack, or with one of the default size if a small stack is not
 * enough for the program's thread-local variables (EINVAL). Returns 0, or an errno. */
static int start_test_thread(pthread_t *thread, const pthread_attr_t *small)
{
    int why = pthread_create(thread, small, wait_at_gate, NULL);
    return why == EINVAL ? pthread_create(thread, NULL, wait_at_gate, NULL) : why;
}

/* Reports whether the threads that Go needs can be started, by starting as many threads. */
static int has_threads(const char *path, char *error, size_t size)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    sigset_t all, before;
    struct rlimit limit;
    int n = 0, why = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
    sigfillset(&all);
    /* The test threads inherit the mask, so no handler of the program runs in one. */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&gate);
    while (n < THREADS && (why = start_test_thread(&threads[n], &small)) == 0)
        n++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    if (why == 0)
        return 1;
    if (forbidden(why))
        return refuse_call(path, "clone", why, error, size);
    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(error, size,
                 "%s cannot be loaded: it needs %d threads and gets %d: %s; RLIMIT_NPROC is %llu "
                 "for all processes of user %u (raise the limit with ulimit -u, or that of the "
                 "container or control group, pids.max)",
                 path, THREADS, n, strerror(why), (unsigned long long)limit.rlim_cur,
                 (unsigned)getuid());
    else
        snprintf(error, size,
                 "%s cannot be loaded: it needs %d threads and gets %d: %s (raise the limit of the "
                 "container or control group, pids.max)",
                 path, THREADS, n, strerror(why));
    return 0;
}

/* Reports whether the system calls of the Go runtime's poller work; if one of them fails, Go ends
 * the process. A failure for another reason than a sandbox counts as working: has_files comes next.
 */
static int has_calls(const char *path, char *error, size_t size)
{
    struct epoll_event event = {.events = EPOLLIN};
    const char *call = "epoll_create1";
    int wake = -1, poll = epoll_create1(EPOLL_CLOEXEC), ok = poll >= 0;
    if (ok) {
        call = "eventfd2";
        ok = (wake = eventfd(0, EFD_CLOEXEC)) >= 0;
    }
    if (ok) {
        call = "epoll_ctl";
        ok = epoll_ctl(poll, EPOLL_CTL_ADD, wake, &event) == 0;
    }
    if (ok) {
        call = "epoll_pwait";
        ok = epoll_pwait(poll, &event, 1, 0, NULL) >= 0;
    }
    int why = errno;
    if (wake >= 0)
        close(wake);
    if (poll >= 0)
        close(poll);
    /* if descriptors are lacking, has_files reports it */
    return ok || !forbidden(why) || refuse_call(path, call, why, error, size);
}

/* Reports whether the process may still open the FILES descriptors that the Go runtime needs. If
 * not, it writes the error. */
static int has_files(const char *path, char *error, size_t size)
{
    struct rlimit limit;
    int fds[FILES], n = 0;

    /* The Go runtime raises the soft limit to the hard one, so the difference is free in any case.
     */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max - limit.rlim_cur >= FILES)
        return 1;
    fds[0] = eventfd(0, EFD_CLOEXEC);
    if (fds[0] >= 0)
        for (n = 1; n < FILES && (fds[n] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0)) >= 0;)
            n++;
    for (int i = 0; i < n; i++)
        close(fds[i]);
    n += (int)(limit.rlim_max - limit.rlim_cur);
    if (n >= FILES)
        return 1;
    snprintf(error, size,
             "%s cannot be loaded: it needs %d open files, and RLIMIT_NOFILE of %llu leaves %d "
             "(raise the limit with ulimit -Hn)",
             path, FILES, (unsigned long long)limit.rlim_max, n);
    return 0;
}

/* Tests whether the Go half, the file at path, can start in this process: libc, memory, threads,
 * system calls and open files. The first test that fails writes the error. Returns 0 then, else 1.
 */
int shmemi_preflight(const char *path, char *error, size_t size)
{
    return has_libc(path, error, size) && has_space(path, error, size) &&
           has_threads(path, error, size) && has_calls(path, error, size) &&
           has_files(path, error, size);
}
