/*
 * fork.c: fork() after init.
 *
 * A child has the parent's memory, but not its Go threads, and it is not a PE. Its state is reset
 * to "not initialised", so that every call ends with one line instead of hanging; and it must
 * report nothing to the launcher in the parent's name.
 *
 * By the rules of fork() the child has its own copy of the globals, but they are in memory that the
 * PEs share (symmetric globals). So the parent makes a private copy before it forks, and the child
 * moves that copy over its globals before any code of the program runs in it: the handlers here are
 * registered when the library is loaded, so they are the last to run before the fork, and the first
 * after it. While the copy is made, another thread may write, and the child could see a later store
 * without an earlier one. Where the kernel allows it, the parent therefore blocks each thread that
 * writes to a global until it has forked (userfaultfd, which needs root,
 * vm.unprivileged_userfaultfd or access to /dev/userfaultfd).
 *
 * system(), popen(), posix_spawn() and vfork() run none of these handlers and need none: their
 * child shares the parent's memory until it execs. No function here allocates by malloc, because
 * fork() is about to acquire malloc's locks.
 */
#define _GNU_SOURCE
#include "buffers.h"
#include "program.h"
#include "statics.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.19, and not in the headers of every distribution. */
#define WRITE_PROTECT_SHARED (1ull << 12)
#define NEW_USERFAULTFD _IO(0xAA, 0x00)

/* The fork that is under way; the child reads it as well. shmemi_statics_lock guards it, from
 * before the fork until after it: one fork of the process is under way at a time. */
static struct {
    const struct shmemi_program *program; /* NULL: the program's globals are not symmetric */
    char *copy;                           /* a private copy of its globals; NULL: no memory */
    int uffd;                             /* the userfaultfd that blocks writers, or -1 */
} now;

/* ------------------------------------------------------------------- holding */

/* Returns a userfaultfd that can write-protect shared memory; -1: the kernel does not allow it. */
static int open_userfaultfd(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        if (device >= 0) {
            fd = ioctl(device, NEW_USERFAULTFD, O_CLOEXEC | O_NONBLOCK);
            close(device);
        }
    }
    struct uffdio_api api = {.api = UFFD_API, .features = WRITE_PROTECT_SHARED};
    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Write-protects the spans of the program's globals (runs of pages that are symmetric), so that a
 * thread that writes to one is blocked, or, with mode 0, removes that protection. Returns false if
 * an ioctl has failed. */
static bool write_protect(int fd, const struct shmemi_program *p, uint64_t mode)
{
    for (uint32_t i = 0; i < p->n_spans; i++) {
        struct uffdio_range range = {p->spans[i].start, p->spans[i].size};
        struct uffdio_register enter = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};
        struct uffdio_writeprotect wp = {.range = range, .mode = mode};
        if (mode != 0 && ioctl(fd, UFFDIO_REGISTER, &enter) != 0)
            return false;
        if (ioctl(fd, UFFDIO_WRITEPROTECT, &wp) != 0)
            return false;
        if (mode == 0 && ioctl(fd, UFFDIO_UNREGISTER, &range) != 0)
            return false;
    }
    return true;
}

/* Lets threads write to globals again. fd: what block_writers returned. */
static void unblock_writers(const struct shmemi_program *p, int fd)
{
    if (fd < 0)
        return;
    write_protect(fd, p, /* mode: none */ 0);
    close(fd); /* also wakes threads that are still blocked */
}

/* Blocks each thread that writes to a global. Returns the userfaultfd, or -1: no thread is blocked.
 * It blocks none if the allocator's heap shares a page with a global: fork() itself waits for
 * threads in the allocator. */
static int block_writers(const struct shmemi_program *p)
{
    if (p->heap_inside)
        return -1;
    int fd = open_userfaultfd();
    if (fd >= 0 && !write_protect(fd, p, UFFDIO_WRITEPROTECT_MODE_WP)) {
        unblock_writers(p, fd);
        fd = -1;
    }
    return fd;
}

/* ------------------------------------------------------------------- copying */

/* Returns a private copy of the pages of the program's globals that were ever written; NULL if
 * there is no memory. place: the offset of the globals in the memory file. A span is at the offset
 * s->at both in the file, from there on, and in the copy. */
static char *copy_globals(const struct shmemi_program *p, uint64_t place)
{
    char *copy = (char *)syscall(SYS_mmap, NULL, p->size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return NULL;
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const struct shmemi_span *s = &p->spans[i];
        uint64_t begin = place + s->at, end = begin + s->size;
        for (uint64_t from = begin, to = end; shmemi_statics_written(&from, &to);
             from = to, to = end)
            shmemi_copy_pages(copy + (from - place), (const char *)s->start + (from - begin),
                              to - from);
    }
    return copy;
}

/* ------------------------------------------------------------------ handlers */

/* In the parent, before fork(): blocks threads that write to globals, and makes the copy of the
 * globals that becomes the child's own. It does neither if the caller's stack is in a global: then
 * the child prints an error and ends. */
static void before_fork(void)
{
    uint64_t place;
    shmemi_statics_lock();
    now.program = shmemi_statics_moved(&place);
    now.uffd = -1;
    if (now.program == NULL)
        return;
    now.copy = NULL;
    if (shmemi_program_on_spans(now.program))
        return; /* the child prints the error */
    now.uffd = block_writers(now.program);
    now.copy = copy_globals(now.program, place);
}

/* In the parent, after fork(): lets threads write to globals again, and frees the copy of them. */
static void after_fork(void)
{
    if (now.program != NULL) {
        unblock_writers(now.program, now.uffd);
        if (now.copy != NULL)
            syscall(SYS_munmap, now.copy, now.program->size);
    }
    shmemi_statics_unlock();
}

/* Prints an error in the child, without stdio, and ends it. */
static void print_and_exit(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        /* stderr is closed */
    }
    _exit(127);
}

/* In the child: moves the private copy over the globals, which are still memory that the PEs share.
 * The moves need no copy: mremap replaces the mapping of each span. */
static void make_globals_private(void)
{
    const struct shmemi_program *p = now.program;
    if (now.uffd >= 0)
        close(now.uffd);
    if (now.copy == NULL)
        print_and_exit(shmemi_program_on_spans(p)
                           ? "shmem: fork: the caller's stack is in a global, which the "
                             "child cannot make its own (call fork on another stack)\n"
                           : "shmem: fork: there is no memory for the child's own globals "
                             "(free some, or set SHMEM_STATICS=off)\n");
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const struct shmemi_span *s = &p->spans[i];
        if (syscall(SYS_mremap, now.copy + s->at, s->size, s->size, MREMAP_MAYMOVE | MREMAP_FIXED,
                    s->start) == -1)
            print_and_exit("shmem: fork: the child's globals cannot be made its own (raise "
                           "vm.max_map_count, or set SHMEM_STATICS=off)\n");
    }
}

/* In the child, before code of the program runs: moves the copies of the globals into place, and
 * resets the library to the state before init, so that its calls print an error. */
static void in_child(void)
{
    if (now.program != NULL)
        make_globals_private();
    shmemi_statics_forget();
    shmemi_buffers_forget();
    shmemi_statics_unlock();
    if (shmemi_state.core == NULL)
        return; /* there has been no init */
    /* As before init: each call finds no PE, and the fast path no heap. */
    shmemi_state.n_pes = 0;
    shmemi_state.heap_size = 0;
    shmemi_state.core = NULL;
    shmemi_state.init_count = SHMEMI_FORKED;
}

/* Registers the handlers of fork when the library is loaded. Only this function and the constructor
 * in report_signal.c run at that time. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}
