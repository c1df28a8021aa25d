/*
 * delayed.h: puts that the modes early and chaos delay, which means that they copy them and send
 * them later. They send them by putmem and putmem_signal of the library behind the shim, which have
 * the same effect for every type, and strided puts by the function that the program called.
 */
#ifndef PRELOAD_DELAYED_H
#define PRELOAD_DELAYED_H

#include "preload.h"

#include <pthread.h>

/* A put that is delayed. */
struct delayed {
    uint32_t number;  /* of the function that the program called */
    int pe;           /* the argument of the call */
    pthread_t thread; /* that has made the call */
    bool nbi, sent;   /* the call was nonblocking; the put was sent already (mode_chaos.c) */
    bool has_ctx;     /* the call names a context */
    uintptr_t ctx;    /* the argument of the call */
    unsigned context; /* the number of the context; 0: the default one (delayed_contexts.c) */
    uintptr_t team;   /* the handle of the context's team */
    bool one_thread;  /* threads may not use the context at the same time */
    char *dest;
    const char *source;   /* memory of the program; NULL if the call had a value instead */
    char *copy;           /* the bytes at the time of the call, without gaps */
    size_t bytes;         /* of the copy */
    size_t block, stride; /* contiguous bytes at dest, and bytes from one block to the next; 0: one
                             block */
    char *signal;         /* the word of a put with signal; NULL: it has none */
    uint64_t value;       /* with signal: its value, and SHMEM_SIGNAL_SET or _ADD */
    int operation;
    struct delayed *next;
};

/* The delayed puts, in program order; bytes is the size of their copies. */
struct delayed_list {
    struct delayed *first, **last;
    size_t bytes;
};

/* Reports whether a call is a put that can be delayed: it is not on a CUDA stream, writes to
 * symmetric memory and not to a mailbox or counter, and its strides are valid. */
bool delayed_can(const struct preload_frame *f);

/* Adds the put of f, with a copy of its bytes. */
void delayed_add(struct delayed_list *list, const struct preload_frame *f);
/* Moves the puts for which test(put, f) is true to the end of another list. */
void delayed_move(struct delayed_list *list, struct delayed_list *to,
                  bool (*test)(const struct delayed *, const struct preload_frame *),
                  const struct preload_frame *f);
/* Empties a list of delayed puts, and frees their copies. */
void delayed_clear(struct delayed_list *list);

/* Sends the put, from the copy or from the program's memory; nbi: by a nonblocking function. */
void delayed_send(const struct delayed *d, bool from_copy, bool nbi);

/* Calls quiet on the context of the put. */
void delayed_quiet(const struct delayed *d);

/*
 * delayed_contexts.c: the contexts of the program. open is called after init, close after finalize,
 * forked in the child of a fork; before and after are called before and after each call. numbers:
 * handles are numbers of 32 bits, not pointers (preload_library_numbers).
 */
void delayed_contexts_open(bool numbers);
void delayed_contexts_close(void);
void delayed_contexts_before(const struct preload_frame *f);
void delayed_contexts_after(const struct preload_frame *f);
void delayed_contexts_forked(void);
/* Writes to a put the number, the team and the kind of the context of its call. */
void delayed_contexts_fill(struct delayed *d, const struct preload_frame *f);

/* Report whether a call is on the context of a put; whether the PE numbers of both are of the same
 * team; whether the call completes the put; and whether this thread may send it in the call. */
bool delayed_on_context(const struct delayed *d, const struct preload_frame *f);
bool delayed_same_team(const struct delayed *d, const struct preload_frame *f);
bool delayed_completes(const struct delayed *d, const struct preload_frame *f);
bool delayed_may_send(const struct delayed *d, const struct preload_frame *f);

/* Returns the OpenSHMEM function of the library behind the shim. Ends the process if there is
 * none. */
void *delayed_real(unsigned number);

/* Returns this PE's number, -1 before init and after finalize. */
int delayed_pe(void);
/* Returns how many PEs the job has, 0 before init and after finalize. */
int delayed_n_pes(void);

/* Sets what delayed_pe and delayed_n_pes return. It is called after init, with true, and after
 * finalize, with false. f is that call; its interface has the functions for the two numbers. */
void delayed_set_running(const struct preload_frame *f, bool running);

/* Returns the place of a symmetric address, a number that is the same on every PE: twice its
 * distance from base, which is memory of the shim on the heap, or twice its distance from the start
 * of the program plus 1 if it is in the program. */
uint64_t delayed_place(uintptr_t at, uintptr_t base);

/* Prints "early: PE n: ..." on standard error, with the name of the mode, each text once and 20
 * texts at most. At the end of the job, delayed_reports_end prints how many reports were left out.
 */
void delayed_report(const char *mode, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void delayed_reports_end(const char *mode);

/* Parses a time such as 20us, 1ms or 0.5s, up to an hour. Returns nanoseconds, or -1 for another
 * text. */
long delayed_time(const char *text);
/* Sleeps for a time, however often a signal interrupts the sleep. */
void delayed_pause(long nanoseconds);
/* Returns the seconds of a clock that does not jump. */
double delayed_now(void);

#endif
