/*
 * statics.c: moves the program's statics to the memory file of the node.
 *
 * Their contents are copied into the file, and the file is mapped over them. Most of a large .bss
 * has never been touched: only pages for which the kernel has memory are copied, and only if they
 * are not all zeros, so that the rest costs neither time nor memory.
 *
 * At finalize the statics stay in the file: while they are copied back, a store of another thread
 * could be lost. The next init moves them to its own file.
 */
#define _GNU_SOURCE
#include "statics.h"

#include "barrier.h"
#include "error.h"
#include "program.h"
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)SHMEMI_PAGE)

/* The symmetric part of the program, as found at the last init, and the part that is in the memory
 * file; the same after an init that has moved it. */
static struct shmemi_program program, moved;
static int file = -1;  /* the memory file; -1: the statics are private memory */
static uint64_t place; /* the offset in the file at which this PE's statics begin */

/* Guards the four variables above. fork.c has it locked while the process forks. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Keeps init and finalize in other threads from changing the variables above, until
 * shmemi_statics_unlock. fork.c calls both around a fork. */
void shmemi_statics_lock(void)
{
    pthread_mutex_lock(&mutex);
}

/* After a fork, in the parent and the child: ends what shmemi_statics_lock has begun. */
void shmemi_statics_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* Returns the part of the program that is in the memory file, or NULL if nothing was moved. Sets
 * *at to the offset in the file at which this PE's part begins. The caller holds the lock. */
const struct shmemi_program *shmemi_statics_moved(uint64_t *at)
{
    *at = place;
    return file >= 0 ? &moved : NULL;
}

/* In the child of a fork, whose statics are private: closes the memory file. */
void shmemi_statics_forget(void)
{
    if (file >= 0)
        close(file);
    file = -1;
    shmemi_state.n_statics = 0;
}

/* ------------------------------------------------------------- what to move */

/* Copies whole pages: n is a multiple of the 128 bytes of one iteration. It does not use memcpy,
 * because AddressSanitizer's memcpy rejects the red zones between two globals. The fence keeps the
 * compiler from turning the loop into a call of memcpy. */
__attribute__((no_sanitize("address", "thread"))) void shmemi_copy_pages(void *to, const void *from,
                                                                         size_t n)
{
    typedef uint64_t word __attribute__((vector_size(32), may_alias));
    word *t = to;
    const word *f = from;
    for (; n > 0; n -= 4 * sizeof *t, t += 4, f += 4) {
        word a = f[0], b = f[1], c = f[2], d = f[3];
        t[0] = a, t[1] = b, t[2] = c, t[3] = d;
        shmemi_fence_compiler();
    }
}

/* Reports whether a page contains a byte that is not 0. It is not instrumented, because the
 * page may have red zones of AddressSanitizer. */
__attribute__((no_sanitize("address", "thread"))) bool shmemi_page_has_data(const char *page)
{
    const uint64_t *w = (const uint64_t *)(const void *)page;
    for (size_t i = 0; i < PAGE / sizeof *w; i += 8)
        if (w[i] | w[i + 1] | w[i + 2] | w[i + 3] | w[i + 4] | w[i + 5] | w[i + 6] | w[i + 7])
            return true;
    return false;
}

/* Finds the first bytes between *from and *to of the memory file that were ever written, and sets
 * *from and *to to their begin and end. Returns false if none were written. */
bool shmemi_statics_written(uint64_t *from, uint64_t *to)
{
    return shmemi_file_written(file, from, to);
}

/* Like shmemi_statics_written, for any file. Pages that were never written are holes, which
 * SEEK_DATA and SEEK_HOLE find. Returns false if none of the pages were written. */
bool shmemi_file_written(int fd, uint64_t *from, uint64_t *to)
{
    off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
    if (data < 0 || (uint64_t)data >= *to)
        return false;
    off_t hole = lseek(fd, data, SEEK_HOLE);
    *from = (uint64_t)data;
    if (hole > data && (uint64_t)hole < *to)
        *to = (uint64_t)hole;
    return true;
}

/* A window of /proc/self/pagemap, which has an entry for each page of the address space: those of n
 * pages from the page number `first` on, which say whether the kernel has memory or swap for them.
 */
struct kernel_view {
    int pagemap; /* -1: unreadable, so every page counts as touched */
    size_t first, n;
    uint64_t entries[512];
};

/* Reports whether a page of memory may contain anything but zeros: the kernel has memory or swap
 * for it, or the kernel's table of pages cannot be read. */
static bool may_have_data(struct kernel_view *v, uintptr_t page)
{
    enum { SWAPPED = 62, PRESENT = 63 }; /* bits of an entry of /proc/self/pagemap */
    size_t number = page / PAGE;
    if (v->pagemap < 0)
        return true;
    if (number - v->first >= v->n) {
        ssize_t got =
            pread(v->pagemap, v->entries, sizeof v->entries, (off_t)(number * sizeof *v->entries));
        if (got < (ssize_t)sizeof *v->entries)
            return true;
        v->first = number;
        v->n = (size_t)got / sizeof *v->entries;
    }
    return (v->entries[number - v->first] & (1ull << SWAPPED | 1ull << PRESENT)) != 0;
}

/* Finds a run of pages of a span, from `at` on and up to `end`, which are all zero or all may
 * contain data. Sets *data to which of the two, and returns the end of the run. `at` and `end` are
 * offsets in the span. After the first init the statics are in the memory file, whose holes show
 * it. Before, the pages that come from the program's file (filled) count as data. */
static size_t find_run(struct kernel_view *v, const struct shmemi_span *s, size_t at, size_t end,
                       bool *data)
{
    if (file >= 0) {
        uint64_t from = place + s->at + at, to = place + s->at + end;
        uint64_t start = from;
        if (!shmemi_statics_written(&from, &to)) {
            *data = false;
            return end;
        }
        *data = from == start;
        return (size_t)((*data ? to : from) - place - s->at);
    }
    *data = at < s->filled || may_have_data(v, s->start + at);
    size_t next = at + PAGE;
    while (next < end && (next < s->filled || may_have_data(v, s->start + next)) == *data)
        next += PAGE;
    return next;
}

/* ------------------------------------------------------------------- moving */

/* The part of a file to which the statics are moved. */
struct move {
    int file;       /* its descriptor */
    uint64_t place; /* the offset of the part in the file */
    char *area;     /* the address at which the part is mapped in this process */
};

/* Maps the memory file over n bytes of a span's statics, from the offset `at` in the span on.
 * Returns 0, or -1 if mmap fails. */
static int map_over(const struct move *m, const struct shmemi_span *s, size_t at, size_t n)
{
    /* This calls the kernel, and not mmap: AddressSanitizer's mmap discards what it knows about the
     * red zones there. */
    long got =
        syscall(SYS_mmap, s->start + at, n, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, m->file, (off_t)(m->place + s->at + at));
    return got == -1 ? -1 : 0;
}

/*
 * Copies a span to the file, and maps the file over it. Returns 0, or -1 if mmap fails.
 *
 * A store of another thread between the copy of a page and its mapping is lost. A process with one
 * thread (alone) has no such store, and maps the span at once. With several threads each page with
 * data is mapped by itself right after its copy, so that stores can be lost for less than a
 * microsecond. Runs of pages without data need no copy, and are mapped at once.
 */
static int move_span(const struct move *m, const struct shmemi_span *s, bool alone,
                     struct kernel_view *v)
{
    for (size_t at = 0, next; at < s->size; at = next) {
        bool data;
        next = find_run(v, s, at, s->size, &data);
        for (size_t page = at; data && page < next; page += PAGE) {
            const char *from = (const char *)s->start + page;
            if (shmemi_page_has_data(from))
                shmemi_copy_pages(m->area + s->at + page, from, PAGE);
            if (!alone && map_over(m, s, page, PAGE) != 0)
                return -1;
        }
        if (!alone && !data && map_over(m, s, at, next - at) != 0)
            return -1;
    }
    return alone ? map_over(m, s, 0, s->size) : 0;
}

/* Moves all spans to the file, with signals blocked. Ends the job if a mapping fails. */
static void move_all(const struct move *m)
{
    struct kernel_view v = {.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    sigset_t all, before;
    sigfillset(&all);
    /* A store of a signal handler between copy and mapping would be lost like one of a thread. */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = 0;
    for (uint32_t i = 0; i < program.n_spans && rc == 0; i++)
        rc = move_span(m, &program.spans[i], program.alone, &v);
    int cause = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (v.pagemap >= 0)
        close(v.pagemap);
    /* The job cannot go on with statics of which a part has moved: that part is shared memory,
     * which a fork would not copy. */
    if (rc != 0)
        shmemi_abort("shmem_init", "set SHMEM_STATICS=off, if the program does not need them",
                     "map %zu bytes of the program's statics: %s", program.size, strerror(cause));
}

/* ------------------------------------------------------- begin and end of a job */

/* Before the core's init: finds the program's statics, and passes their size and layout to the
 * core. */
void shmemi_statics_offer(struct shmemi_init_args *args)
{
    shmemi_statics_lock();
    shmemi_program_find(&program, file >= 0);
    shmemi_statics_unlock();
    args->statics_size = program.size;
    args->statics_like = program.like;
    args->statics_cause = program.cause;
    args->statics_remedy = program.remedy;
}

/* Moves the statics to the job's memory file, and lists them in the state. Returns 0, or -1 and an
 * error. */
static int move_to_file(char *error, size_t size)
{
    struct shmemi_state *s = &shmemi_state;
    /* The statics stay in the file after finalize, so this file keeps a descriptor of its own; 3 is
     * the first number after the standard streams. */
    struct move m = {.file = fcntl(s->statics_fd, F_DUPFD_CLOEXEC, 3),
                     .place = s->statics_place,
                     .area = s->peer_base[s->my_pe] + s->statics_offset};
    if (m.file < 0) {
        snprintf(error, size, "keep the memory file of the program's statics: %s (raise ulimit -n)",
                 strerror(errno));
        return -1;
    }
    move_all(&m);
    if (file >= 0)
        close(file);
    file = m.file;
    place = m.place;
    program.heap_inside |= moved.heap_inside; /* only the search before the first move finds it */
    moved = program;
    for (uint32_t i = 0; i < program.n_ranges; i++) {
        s->statics[i] = program.ranges[i];
        s->statics[i].offset += s->statics_offset;
    }
    s->n_statics = program.n_ranges;
    return 0;
}

/* After the core's init: moves the statics to the memory file if all PEs can, and syncs. Returns 0,
 * or non-zero with the reason in error. */
int shmemi_statics_open(char *error, size_t size)
{
    if (shmemi_state.statics_fd < 0)
        return 0; /* some PE cannot have symmetric statics */
    shmemi_statics_lock();
    int rc = move_to_file(error, size);
    shmemi_statics_unlock();
    /* No PE may write to another one's statics before they are in the file. */
    if (rc == 0)
        shmemi_sync_members(&shmemi_world, "shmem_init");
    return rc;
}

/* At finalize: empties the list of symmetric statics. The statics stay in the memory file. */
void shmemi_statics_close(void)
{
    shmemi_statics_lock();
    shmemi_state.n_statics = 0;
    shmemi_statics_unlock();
}
