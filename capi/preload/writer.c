/*
 * writer.c: the thread that empties the rings.
 *
 * It polls the rings every 100 ms, and when a thread has filled a quarter of its ring or waits for
 * a flush: a program that is killed loses the calls of its last 100 ms. It uses no lock that a
 * thread of the program uses, and blocks all signals.
 */
#define _GNU_SOURCE
#include "writer.h"

#include "counts.h"
#include "teams.h"
#include "ticks.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAP_MS 100     /* between two polls of the rings */
#define FLUSH_MS 10000 /* the longest wait for a flush */

_Atomic bool preload_recording;

static const char *dir;    /* of the files */
static uint64_t max_bytes; /* of the files, from the setting */
static pthread_t thread;
static bool running;          /* the thread has been started and not been joined */
static _Atomic uint32_t bell; /* a futex that is increased to wake the writer */
static _Atomic uint32_t wanted,
    served;                        /* numbers of flushes: the last requested, the last completed */
static uint32_t served_copy;       /* the writer's own copy of served */
static _Atomic bool leave;         /* the writer is to end after its next round */
static struct preload_about about; /* what the file says of this PE */
static _Atomic bool known;         /* about is filled */

/* Sleeps until a thread wakes the futex, for ms at most; not at all if the futex no longer has the
 * value seen. */
static void sleep_on(_Atomic uint32_t *word, uint32_t seen, int ms)
{
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &nap, NULL, 0);
}

/* Wakes all threads that sleep on a futex. */
static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Wakes the thread that writes. */
void preload_writer_wake(void)
{
    atomic_fetch_add(&bell, 1);
    wake_all(&bell);
}

/* Writes the records of a ring up to written_to, and frees their place in the ring. */
static void write_ring(struct preload_ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    while (tail < r->written_to) {
        preload_output_call(r, &r->records[tail % PRELOAD_RING]);
        /* The tail advances in steps, so that the thread seldom has to read it. */
        if (++tail % (PRELOAD_RING / 64) == 0)
            atomic_store_explicit(&r->tail, tail, memory_order_release);
    }
    atomic_store_explicit(&r->tail, tail, memory_order_release);
}

/* Returns the number of records that were lost in all rings, or because there was no ring. */
static uint64_t count_lost(void)
{
    uint64_t n = atomic_load(&preload_ringless);
    for (struct preload_ring *r = preload_rings(); r; r = r->next)
        n += atomic_load_explicit(&r->lost, memory_order_relaxed);
    return n;
}

/* Writes the records that all rings have now to the file. Returns whether there were any. Before it
 * converts their times, it reads both clocks, so that each time is between two readings. */
static bool drain_all(void)
{
    struct preload_ring *list = preload_rings();
    bool any = false;
    for (struct preload_ring *r = list; r; r = r->next) {
        r->written_to = atomic_load_explicit(&r->head, memory_order_acquire);
        any |= r->written_to != atomic_load_explicit(&r->tail, memory_order_relaxed);
    }
    if (!any)
        return false;
    preload_ticks_mark(); /* later than every record that is written now */
    preload_teams_describe();
    for (struct preload_ring *r = list; r; r = r->next)
        write_ring(r);
    return true;
}

/* Polls the rings once, and makes the flush that a thread has requested. Returns true if no thread
 * has requested a further flush meanwhile. Without an open file, before init, a flush does nothing
 * and is reported as made. */
static bool write_round(void)
{
    static bool open; /* the file has been opened, with success or not */
    uint32_t want = atomic_load(&wanted);
    if (!open && atomic_load_explicit(&known, memory_order_acquire)) {
        preload_output_open(dir, max_bytes, &about);
        open = true;
    }
    bool any = open && drain_all();
    if (open && want != served_copy) {
        preload_counts();
        preload_output_end(count_lost());
    } else if (any) {
        preload_output_flush(count_lost());
    }
    if (open && !preload_output_works())
        atomic_store(&preload_recording, false);
    if (want != served_copy) {
        served_copy = want;
        atomic_store(&served, want);
        wake_all(&served);
    }
    return atomic_load(&wanted) == served_copy;
}

/* Function of the thread that writes: does one round after another. Between two rounds it sleeps
 * for NAP_MS or until it is woken, but not at all if a flush was requested during the round. */
static void *writer_thread(void *unused)
{
    pthread_setname_np(pthread_self(), "shmem-trace");
    for (;;) {
        uint32_t rung = atomic_load(&bell); /* sleep_on does not sleep if the bell rings later */
        bool last = atomic_load(&leave);
        bool idle = write_round();
        if (last)
            return unused;
        if (idle)
            sleep_on(&bell, rung, NAP_MS);
    }
}

/* Starts the thread that writes the trace to files of the directory, `bytes` bytes at most. The
 * thread blocks all signals, which are for the program. Returns false if there is no thread, so
 * that nothing is recorded. */
bool preload_writer_start(const char *directory, uint64_t bytes)
{
    dir = directory;
    max_bytes = bytes;
    sigset_t all, old;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10); /* enough: buffers are not on the stack */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&thread, &attr, writer_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (error) {
        preload_say("trace: start a thread: %s; nothing is recorded (raise the limit of processes, "
                    "ulimit -u)",
                    strerror(error));
        return false;
    }
    running = true;
    atomic_store(&preload_recording, true);
    return true;
}

/* Called once, when this PE's number is known: lets the thread that writes create the file. */
void preload_writer_pe(const struct preload_about *what)
{
    about = *what;
    atomic_store_explicit(&known, true, memory_order_release);
    preload_writer_wake();
}

/* Requests a flush from the writer, and waits for it; with last, also for the end of its thread. */
void preload_writer_flush(bool last)
{
    uint32_t mine = atomic_fetch_add(&wanted, 1) + 1;
    if (!running) {
        /* The writer has ended with the process, and a later destructor calls finalize. */
        if (atomic_load(&preload_recording))
            write_round();
        return;
    }
    if (last) /* else another thread may wait for the writer's end */
        atomic_store(&leave, true);
    preload_writer_wake();
    for (int waited = 0; waited < FLUSH_MS;) {
        uint32_t now = atomic_load(&served);
        if ((int32_t)(now - mine) >= 0) {
            if (last) {
                pthread_join(thread, NULL);
                running = false;
            }
            return;
        }
        uint64_t before = preload_monotonic();
        sleep_on(&served, now, NAP_MS);
        waited += (int)((preload_monotonic() - before) / 1000000);
    }
    preload_say(
        "PE %d: the trace is not written after 10 s (is %s on a file system that does not answer?)",
        about.pe, dir);
}

/* In the child of a fork, which has no thread that writes: stops recording. */
void preload_writer_forked(void)
{
    running = false;
    atomic_store(&preload_recording, false);
    atomic_store(&leave, false);
    served_copy = atomic_load(&wanted);
}
