/*
 * preload.h: what the units of libshmem_preload.so share: the table of calls, the frame of a call
 * that a program makes, and the modes that see it.
 *
 * LD_PRELOAD puts the library before a SHMEM library in the loader's search order. Each function of
 * it (zz_shmem.c, zz_nvshmem.c) fills a frame, lets the modes see it, calls the function of the
 * same name in the library behind it, and lets the modes see it again. A mode is one unit,
 * mode_<word>.c, and a line in modes.c.
 *
 * The shim is for any SHMEM library, so that it includes no header of one.
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zz_calls.h"

#define PRELOAD_LIKELY(x) __builtin_expect(!!(x), 1)
#define PRELOAD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PRELOAD_PUBLIC __attribute__((visibility("default")))
/* The attributes of a generated function that calls all functions of one signature (capi/gen). */
#ifdef __clang__ /* which has no attribute against clones */
#define PRELOAD_SHAPE static __attribute__((noinline, unused))
#else
#define PRELOAD_SHAPE static __attribute__((noinline, noclone, unused))
#endif

/* The largest number of arguments of a function of the shim. */
#define PRELOAD_ARGS 10

/* The kind of a call, as far as modes distinguish it. */
enum preload_kind {
    PRELOAD_KIND_OTHER, /* queries, errors, counters: it moves no data and waits for no PE */
    PRELOAD_KIND_INIT,
    PRELOAD_KIND_FINALIZE,
    PRELOAD_KIND_EXIT,    /* shmem_global_exit: it does not return */
    PRELOAD_KIND_CONTROL, /* shmem_pcontrol */
    PRELOAD_KIND_ALLOC,   /* nelems x blocks bytes of symmetric memory; its address is the result */
    PRELOAD_KIND_REALLOC,
    PRELOAD_KIND_FREE,
    PRELOAD_KIND_POINTER, /* shmem_ptr: an address for loads and stores */
    PRELOAD_KIND_TEAM,    /* makes teams, whose handles it writes to arguments T */
    PRELOAD_KIND_TEAM_DESTROY,
    PRELOAD_KIND_CTX, /* makes a context, whose handle it writes to argument X */
    PRELOAD_KIND_CTX_DESTROY,
    PRELOAD_KIND_PUT,
    PRELOAD_KIND_P,
    PRELOAD_KIND_GET,
    PRELOAD_KIND_G,
    PRELOAD_KIND_IPUT, /* with strides */
    PRELOAD_KIND_IGET,
    PRELOAD_KIND_PUT_SIGNAL,
    PRELOAD_KIND_SIGNAL,
    PRELOAD_KIND_ATOMIC, /* without a result */
    PRELOAD_KIND_FETCH,  /* an atomic with a result */
    PRELOAD_KIND_BARRIER,
    PRELOAD_KIND_SYNC,
    PRELOAD_KIND_COLLECTIVE,
    PRELOAD_KIND_FENCE,
    PRELOAD_KIND_QUIET,
    PRELOAD_KIND_WAIT,
    PRELOAD_KIND_TEST,
    PRELOAD_KIND_LOCK,
    PRELOAD_KIND_UNLOCK,
    PRELOAD_KIND_TEST_LOCK,
};

/* Flags of a call. */
enum {
    PRELOAD_NBI = 1,        /* complete after the next quiet */
    PRELOAD_STREAM = 2,     /* work of a CUDA stream */
    PRELOAD_NVSHMEM = 4,    /* a function of NVSHMEM */
    PRELOAD_DEPRECATED = 8, /* deprecated by OpenSHMEM */
};

/*
 * One function of the shim. pe, nelems and so on are indexes into arg of its frame, or -1 if the
 * function has no such argument. letters has a letter for each argument:
 *
 *   W  symmetric, written at the peer     s  read here             n  number of elements
 *   R  symmetric, read at the peer        r  written here          b  elements of a block, factor
 *   U  symmetric, changed at the peer     w  symmetric, read here  p  PE; with ctx one of its team
 *   K  of a collective, written           C  the same, read        q  root of a collective
 *   x  context   X  where a context goes  t  team                  T  where a team goes
 *   v  value of the element type: arg has its address              m  CUDA stream
 *   g  address of a signal                G  value of a signal     O  operation of a signal
 *   o  comparison                         Y  pSync                 k  pWrk
 *   1 2 3  PE_start, logPE_stride, PE_size                         4 5  strides of dest and source
 *   F  configuration, may be NULL         f  flags, hints, masks   L  lock
 *   a  another address                    i  another number        .  further ones, as in printf
 */
struct preload_call {
    uint32_t name; /* its offset in preload_names */
    uint8_t kind, flags;
    uint8_t size; /* bytes of an element; 0 where a call has none */
    int8_t pe, nelems, blocks, team, ctx, dest, source, signal;
    char letters[PRELOAD_ARGS + 1];
};

/* All functions of the shim, by their numbers (PRELOAD_ and the name), and the texts of their
 * names.
 */
extern const struct preload_call preload_calls[PRELOAD_CALLS];
extern const char preload_names[];

/* A call that the program makes. */
struct preload_frame {
    uint32_t number;    /* of the function: its index in preload_calls */
    uint32_t begun;     /* how many modes, from the first on, have run before() */
    bool outer;         /* false: a library made the call within another one */
    void *real;         /* the function to be called */
    void *result;       /* where the result is; undefined in calls without one */
    const void *caller; /* an address in the code that made the call */
    uint64_t at;        /* for mode trace: the clock at the begin of the call, in ticks */
    uint32_t stolen; /* for mode trace: time lost before the call to preemption, in nanoseconds */
    int64_t team;    /* for mode trace, of a call that destroys a team: its number; -1: unknown */
    uintptr_t arg[PRELOAD_ARGS]; /* the arguments; of a value (letter v) its address */
};

/* Returns the name of the function with a number. */
static inline const char *preload_name(unsigned number)
{
    return preload_names + preload_calls[number].name;
}

/* Returns the bytes that a call moves or allocates; 0 where it moves none. */
static inline uint64_t preload_bytes(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    uint64_t n = c->size;
    if (c->nelems >= 0)
        n *= f->arg[c->nelems];
    if (c->blocks >= 0)
        n *= f->arg[c->blocks];
    return n;
}

/* Returns the PE that the call names as an argument, a number of its context's team; -1 if it names
 * none. */
static inline int preload_pe(const struct preload_frame *f)
{
    int place = preload_calls[f->number].pe;
    return place < 0 ? -1 : (int)f->arg[place];
}

/* The generated functions call the next three (hook.c). */

/* Reads the settings and starts the modes, at the first call of the program. */
void preload_start(void);
/* Fills the frame and lets the modes see the call. Returns true if the generated function is to
 * call f->real with f->arg, and false if a mode has made the call. */
bool preload_begin(struct preload_frame *f, unsigned number, const void *caller);
/* Lets the modes that saw the begin of the call see its end, in reverse order. */
void preload_end(struct preload_frame *f);

/* Marks the calls of this thread, until preload_leave, as the shim's own, which modes do not see.
 */
void preload_enter(void);
/* Ends what preload_enter has begun. */
void preload_leave(void);

/*
 * A mode of SHMEM_PRELOAD. Functions may be NULL. before and after run in the thread that calls,
 * without a lock, and never within a call that a mode or the library itself makes.
 */
struct preload_mode {
    const char *word;
    const char *form; /* of its part of SHMEM_PRELOAD, for messages */

    /* Parses what follows the word, "" or ":..." or ",key=value...". Returns NULL, or the text of
     * an error. It may store pointers into text. */
    const char *(*set)(char *text);

    /* Called once, before modes see the first call. */
    void (*start)(void);

    /* Before the call: may change f->arg, f->real and, by its address, a value. Returns false if
     * the mode has made the call itself; the result, if any, is then at f->result. */
    bool (*before)(struct preload_frame *f);

    /* After the call, in the opposite order of modes; also if before returned false. */
    void (*after)(struct preload_frame *f);

    /* Returns the function that is called for the program's. NULL: the one that the loader finds.
     */
    void *(*find)(unsigned number);

    /* Called after each finalize, when the `after` functions of all modes have run (at_exit is
     * false), and when the process ends (at_exit is true). */
    void (*finish)(bool at_exit);

    /* Called in the child of a fork. */
    void (*forked)(void);
};

/* modes.c. All modes, in the order in which their before is called; the last is NULL. */
extern const struct preload_mode *const preload_modes[];

/* settings.c. Reads SHMEM_PRELOAD and fills preload_active with the modes that it names; ends the
 * process if it is not valid. */
#define PRELOAD_MODES 8
extern const struct preload_mode *preload_active[PRELOAD_MODES + 1];
void preload_settings(void);

/* Returns the next key of ",key=value,key=value", which is split in place, or NULL at its end.
 * value is NULL for a key without one. text starts as the argument of set. */
char *preload_option(char **text, char **value);

/* Returns the function with this call number in the library behind the shim (resolve.c); NULL if
 * the library has none. caller is an address in the code that made the call. */
void *preload_find(unsigned number, const void *caller);

/* Does what preload_find does, but ends the process if the library has no such function, as the
 * loader does for an undefined symbol. */
void *preload_resolve(unsigned number, const void *caller);

/* Reports whether an address is in the shim. */
bool preload_own(const void *address);

/* Writes one line on standard error, with the library's name (say.c). Each message is a whole
 * sentence. */
void preload_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message and ends the process with status 1. */
void preload_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The bits of a 16-bit floating-point number. */
struct preload_half {
    uint16_t bits;
};

#endif
