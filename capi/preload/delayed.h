/*
 * delayed.h: puts that a mode keeps back and sends later, for the experiments. What is sent are
 * calls of putmem and putmem_signal in the library behind, which have the same effect for every
 * type. Strided puts are made as the program made them.
 */
#ifndef PRELOAD_DELAYED_H
#define PRELOAD_DELAYED_H

#include "preload.h"

#include <pthread.h>

struct delayed {
    uint32_t number; /* of the call that the program made */
    int pe;          /* as the call has it */
    pthread_t thread;
    bool nbi, sent;
    bool has_ctx;
    uintptr_t ctx;
    char *dest;
    const char *source; /* of the program; NULL where it was a value */
    char *copy;         /* the bytes at the time of the call, without gaps */
    size_t bytes;
    size_t block, stride; /* bytes side by side at dest, and from one block to the next */
    char *signal;         /* the word of a put with signal; NULL: it has none */
    uint64_t value;
    int operation;
    struct delayed *next;
};

/* In the order of the program. */
struct delayed_list {
    struct delayed *first, **last;
    size_t bytes;
};

/* Whether a call is a put that can be kept back: of the host, to a PE and not to its mailbox or
 * counter, and with strides that the specification allows. */
bool delayed_can(const struct preload_frame *f);

/* Adds the put of f, with a copy of its bytes. */
void delayed_add(struct delayed_list *list, const struct preload_frame *f);
void delayed_clear(struct delayed_list *list);

/* Sends it, from the program's memory or from the copy; nbi: by the call without a wait. */
void delayed_send(const struct delayed *d, bool from_copy, bool nbi);

/* Completes what has been sent on its context. */
void delayed_quiet(const struct delayed *d);

/* Returns the OpenSHMEM function of the library behind the shim. Ends the process if there is
 * none. */
void *delayed_real(unsigned number);

/* This PE and the number of PEs, by the library behind; -1 before init. */
int delayed_pe(void);
int delayed_n_pes(void);

/* Notes that init is over, or that the job is. */
void delayed_init(bool running);

/* The place of symmetric memory as every PE has it: from the start of the program, or from base,
 * which is the shim's on the heap. */
uint64_t delayed_place(uintptr_t at, uintptr_t base);

/* "early: PE n: ..." on standard error, each text once and 20 texts at most; the end of the job
 * says how many there were beyond that. */
void delayed_report(const char *mode, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void delayed_reports_end(const char *mode);

/* A time as in 20us, 1ms, 0.5s: nanoseconds, or -1. */
long delayed_time(const char *text);
void delayed_pause(long nanoseconds);
double delayed_now(void); /* seconds of a clock that does not jump */

#endif
