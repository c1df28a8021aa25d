/*
 * mode_trace.c: SHMEM_PRELOAD=trace: each call of the program with its time, peer, bytes and team.
 *
 * A thread writes a record into its own ring, without a lock. Everything else is done by the
 * writer (writer.c), which starts with the first record.
 */
#define _GNU_SOURCE
#include "clocks.h"
#include "head.h"
#include "library.h"
#include "preempted.h"
#include "ring.h"
#include "teams.h"
#include "ticks.h"
#include "bypassing.h"
#include "writer.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The options of the mode. */
static char dir[PATH_MAX] = "shmem-trace";     /* file= */
static uint64_t max_bytes = (uint64_t)1 << 30; /* size= */
static char *pattern;                          /* calls=; NULL: all calls */
static bool no_clock, wait_for_room;           /* clock=off, full=wait */

/* What the mode does with each call, as bits. */
enum {
    TIMED = 1,  /* records it with its times; a call without this bit is only counted */
    BEFORE = 2, /* before() has to do something */
    AFTER = 4,  /* after_special_call() has to do something */
};
static uint8_t tasks_of[PRELOAD_CALLS];

static _Atomic bool paused; /* recording is paused by shmem_pcontrol */
static _Atomic int begun;   /* 1: the writer is being started, 2: it runs, or could not start */
static _Atomic int
    known; /* 1: `about` is being filled, or cannot be filled; 2: it has this PE's number */
static struct preload_about about;

/* Parses a number of bytes, which k, m or g may follow; 0 for another text, or if it overflows. */
static uint64_t bytes_of(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    int shift = *end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0;
    if (end == text || errno || end[shift > 0] != '\0' || *text == '-' ||
        n > UINT64_MAX >> (shift + 1))
        return 0;
    return (uint64_t)n << shift;
}

/* Parses the options of the mode, the text after "trace": file=, calls=, size=, clock=off and
 * full=wait. Returns what is wrong with them, or NULL. */
static const char *parse(char *text)
{
    char *key, *value;
    if (*text == ':')
        return "trace has no colon";
    while ((key = preload_option(&text, &value)) != NULL) {
        if (strcmp(key, "file") == 0) {
            if (!value || !*value || strlen(value) >= sizeof dir / 2)
                return "file needs the name of a directory";
            strcpy(dir, value);
        } else if (strcmp(key, "calls") == 0) {
            if (!value || !*value)
                return "calls needs a pattern such as shmem_*put*, or several joined by |";
            pattern = value;
        } else if (strcmp(key, "size") == 0) {
            max_bytes = value ? bytes_of(value) : 0;
            if (max_bytes < 1 << 20)
                return "size needs a number of bytes, 1m or more, such as 500m or 4g";
        } else if (strcmp(key, "clock") == 0) {
            if (!value || strcmp(value, "off") != 0)
                return "clock may only be off";
            no_clock = true;
        } else if (strcmp(key, "full") == 0) {
            if (!value || strcmp(value, "wait") != 0)
                return "full may only be wait";
            wait_for_room = true;
        } else {
            return "there is no such key";
        }
    }
    return NULL;
}

/* BEFORE and AFTER for the kinds of calls for which the mode does more than record a time. */
static const uint8_t special[PRELOAD_KIND_TEST_LOCK + 1] = {
    [PRELOAD_KIND_INIT] = AFTER,
    [PRELOAD_KIND_FINALIZE] = BEFORE,
    [PRELOAD_KIND_EXIT] = BEFORE,
    [PRELOAD_KIND_CONTROL] = AFTER,
    [PRELOAD_KIND_TEAM] = AFTER,
    [PRELOAD_KIND_TEAM_DESTROY] = BEFORE,
    [PRELOAD_KIND_CTX] = AFTER,
    [PRELOAD_KIND_CTX_DESTROY] = BEFORE,
    [PRELOAD_KIND_POINTER] = AFTER,
    /* After an allocation, in case the program called init in a way that bypasses the shim. */
    [PRELOAD_KIND_ALLOC] = AFTER,
    [PRELOAD_KIND_BARRIER] = AFTER,
};

/* Decides for each call whether it is timed, and makes the path of the directory absolute. */
static void start(void)
{
    preload_ticks_open();
    /* The path is made absolute because the program may change its directory. */
    if (dir[0] != '/') {
        char here[PATH_MAX], whole[PATH_MAX];
        if (getcwd(here, sizeof here) &&
            (size_t)snprintf(whole, sizeof whole, "%s/%s", here, dir) < sizeof whole)
            strcpy(dir, whole);
    }
    for (unsigned i = 0; i < PRELOAD_CALLS; i++)
        tasks_of[i] = (pattern ? 0 : TIMED) | special[preload_calls[i].kind];
    for (char *one = pattern; one;) {
        char *next = strchr(one, '|');
        if (next)
            *next++ = '\0';
        for (unsigned i = 0; i < PRELOAD_CALLS; i++)
            tasks_of[i] |= fnmatch(one, preload_name(i), 0) == 0 ? TIMED : 0;
        one = next;
    }
}

/* Makes the ring of the calling thread, in which it records its calls. The first thread of the
 * process also starts the writer. Returns NULL if there is no memory for the ring. */
static struct preload_ring *make_ring(void)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&begun, &none, 1)) {
        if (preload_writer_start(dir, max_bytes))
            preload_bypassing_start();
        atomic_store(&begun, 2);
    }
    return preload_ring_open();
}

/* Finds out, once, the number of this PE and the other facts in the head of the file, and lets the
 * writer open the file. Clocks are compared only after an init: the comparison is a collective, and
 * only an init is called by all PEs at the same point. */
static void identify_pe(const struct preload_frame *f)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&known, &none, 1))
        return;
    if (!preload_library_pe(f, &about.pe, &about.npes))
        return; /* without this PE's number there is no file */
    about.library = preload_library_file(f->real);
    about.program = program_invocation_name;
    preload_teams_open(f, about.npes);
    if (preload_calls[f->number].flags & PRELOAD_NVSHMEM)
        preload_head_bypassing("calls within kernels");
    preload_writer_pe(&about);
    atomic_store(&known, 2);
    if (!no_clock && preload_calls[f->number].kind == PRELOAD_KIND_INIT)
        preload_clocks(f, about.pe, about.npes);
}

/* Returns the result of a call that makes a team or context or is an init; 0 for an init without a
 * result. */
static int status_of(const struct preload_frame *f)
{
    switch (f->number) {
    case PRELOAD_shmem_init:
    case PRELOAD_nvshmem_init:
    case PRELOAD_start_pes:
        return 0;
    }
    return *(const int *)f->result;
}

/* Does, after calls of the kinds with AFTER, what the mode does besides recording them: finds out
 * this PE's number, records teams and contexts, and pauses when the program asks for it. */
static void after_special_call(struct preload_frame *f)
{
    switch (preload_calls[f->number].kind) {
    case PRELOAD_KIND_POINTER:
        if (*(const uintptr_t *)f->result)
            preload_head_bypassing(
                "loads and stores through the address that shmem_ptr has returned");
        break;
    case PRELOAD_KIND_INIT:
        if (status_of(f) == 0)
            identify_pe(f);
        break;
    case PRELOAD_KIND_TEAM:
    case PRELOAD_KIND_CTX:
        if (status_of(f) == 0)
            preload_teams_add(f);
        break;
    case PRELOAD_KIND_CONTROL:
        atomic_store(&paused, (int)f->arg[0] <= 0);
        break;
    case PRELOAD_KIND_BARRIER:
    case PRELOAD_KIND_ALLOC:
        if (atomic_load_explicit(&known, memory_order_relaxed) == 0)
            identify_pe(f);
        break;
    }
}

/* Reports whether calls are to be recorded now. It is also true before the writer has been started,
 * because the first record starts the writer (make_ring). */
static inline bool is_recording(void)
{
    return (atomic_load_explicit(&preload_recording, memory_order_relaxed) ||
            atomic_load_explicit(&begun, memory_order_relaxed) != 2) &&
           !atomic_load_explicit(&paused, memory_order_relaxed);
}

/* Writes the record of a call that has returned, or that will not return, to the ring of this
 * thread, from which the writer reads it. If the ring is full, the record is lost, or the thread
 * waits (full=wait). */
static void record(struct preload_frame *f, uint64_t end)
{
    struct preload_ring *r = preload_ring;
    if (!PRELOAD_LIKELY(r) && !(r = make_ring()))
        return;
    const struct preload_call *c = &preload_calls[f->number];
    struct preload_record e = {.begin = f->at, .end = end, .stolen = f->stolen};
    e.number = (uint16_t)f->number;
    if (c->pe >= 0) {
        e.pe = preload_team_pe(f, (int)f->arg[c->pe]);
        e.has |= PRELOAD_HAS_PE;
    }
    if (c->size) {
        e.bytes = preload_bytes(f);
        e.has |= PRELOAD_HAS_BYTES;
    }
    if (preload_team_of(f, &e.team))
        e.has |= PRELOAD_HAS_TEAM;
    /* Waits between two calls of the program, never within one, and only once the writer has a
     * file. */
    while (wait_for_room && preload_ring_full(r) && is_recording() && atomic_load(&known) == 2) {
        struct timespec nap = {0, 100000};
        preload_writer_wake();
        nanosleep(&nap, NULL);
    }
    if (preload_ring_put(r, &e))
        preload_writer_wake();
    if (PRELOAD_UNLIKELY(end - f->at > PRELOAD_PAUSE))
        preload_preempted(&r->share); /* the next pause begins here */
    r->last_end = end;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (PRELOAD_UNLIKELY(head % PRELOAD_TOUCHED == 0 && head < PRELOAD_RING))
        preload_ring_touch(r, head);
}

/* Called at the first call after a pause: returns for how many nanoseconds of the pause the thread
 * was ready and had no processor, or waited for page faults of its ring. A thread that has slept in
 * the pause counts as never without a processor (preload_preempted). */
static __attribute__((noinline)) uint32_t time_without_processor(struct preload_ring *r)
{
    uint64_t ns = preload_preempted(&r->share) + r->touch_ns;
    r->touch_ns = 0;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The value of f->at for a call whose record was written before the call. No call begins at this
 * time. */
#define RECORDED ((uint64_t)1)

/* Does, before calls of the kinds with BEFORE, what the mode does besides reading the time: marks a
 * team or context that the call destroys, and measures the clock once more before a finalize
 * (preload_clocks). Returns true if it has written the record of the call. */
static bool before_special_call(struct preload_frame *f)
{
    switch (preload_calls[f->number].kind) {
    case PRELOAD_KIND_TEAM_DESTROY:
    case PRELOAD_KIND_CTX_DESTROY:
        preload_teams_remove(f);
        return false;
    case PRELOAD_KIND_FINALIZE: {
        /* The clock is measured before the first finalize only: a library may warn about a second
         * one, and has no heap by then. */
        static _Atomic bool finalized;
        if (atomic_load(&known) == 2 && !no_clock && !atomic_exchange(&finalized, true))
            preload_clocks(f, about.pe, about.npes);
        return false;
    }
    case PRELOAD_KIND_EXIT:
        if (!is_recording())
            return false;
        /* shmem_global_exit does not return, so its record is written now. */
        f->at = preload_ticks();
        f->stolen = 0;
        record(f, f->at);
        preload_writer_flush(/* last */ false);
        f->at = RECORDED;
        return true;
    }
    return false;
}

/* Called before each call: reads the time; 0 for a call that is not timed. Returns true: the call
 * is made. */
static bool before(struct preload_frame *f)
{
    unsigned tasks = tasks_of[f->number];
    if (__builtin_expect(tasks & BEFORE, 0) && before_special_call(f))
        return true;
    f->at = 0;
    if (!(tasks & TIMED))
        return true;
    f->at = preload_ticks();
    f->stolen = 0;
    struct preload_ring *r = preload_ring;
    if (PRELOAD_UNLIKELY(r && (r->touch_ns || f->at - r->last_end > PRELOAD_PAUSE))) {
        f->stolen = time_without_processor(r);
        f->at = preload_ticks();
    }
    return true;
}

/* Called after each call: adds its record to the thread's ring, or only counts it if calls=PATTERN
 * leaves it out. */
static void after(struct preload_frame *f)
{
    uint64_t end = f->at ? preload_ticks() : 0;
    if (__builtin_expect(tasks_of[f->number] & AFTER, 0))
        after_special_call(f);
    if (!is_recording())
        return;
    if (f->at == RECORDED)
        return;
    if (f->at) {
        record(f, end);
        return;
    }
    struct preload_ring *r = preload_ring;
    if (r || (r = make_ring()))
        preload_ring_count(r, f->number);
}

/* After finalize, and at the end of the process: writes what is recorded. */
static void finish(bool at_exit)
{
    preload_writer_flush(at_exit);
}

/* In the child of a fork: forgets the rings and the writer, which are the parent's. */
static void forget_in_child(void)
{
    preload_writer_forked();
    preload_rings_forked();
    /* The child of a PE records nothing. The child of a process that was not a PE, for example
     * because it only called shmem_info_get_version, may become one. */
    atomic_store(&begun, atomic_load(&known) ? 2 : 0);
}

const struct preload_mode preload_trace = {
    .word = "trace",
    .form = "trace[,file=DIR][,calls=PATTERN][,size=BYTES][,full=wait][,clock=off]",
    .set = parse,
    .start = start,
    .before = before,
    .after = after,
    .finish = finish,
    .forked = forget_in_child,
};
