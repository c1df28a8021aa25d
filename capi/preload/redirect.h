/*
 * redirect.h: what the units of mode redirect share.
 *
 * The program was compiled against the header of another library. What that header has put into the
 * program (constants, the size of handles, data symbols) is "theirs"; libshmem's is "ours".
 */
#ifndef PRELOAD_REDIRECT_H
#define PRELOAD_REDIRECT_H

#include "preload.h"

/* One constant that the header compiles into programs, with its value in their header and in ours.
 */
struct redirect_value {
    const char *name;
    long theirs, ours;
};

/* A variable of the other library from which programs read a handle. */
struct redirect_symbol {
    const char *name;
    int32_t handle; /* ours */
};

/* A function that only the other library has, and libshmem's that does the same with the same
 * arguments. */
struct redirect_name {
    const char *theirs, *ours;
};

/* What programs of one library have compiled in. Lists end with a row without a name. */
struct redirect_library {
    const char *name;
    bool pointers; /* handles are pointers, and NULL is the invalid one */
    const struct redirect_symbol *symbols;
    const struct redirect_value *options; /* options of contexts: bits of a mask */
    const struct redirect_value *signals; /* operations of signals */
    bool small_sync; /* arrays pSync and pWrk are shorter than ours, with other values */
    const struct redirect_value *sizes;
    const struct redirect_value *same; /* compared by the tests, and not translated */
    int major, minor;
    const char *vendor;
    const char *heap; /* their environment variable for the size of the heap */
};

/* redirect_openmpi.c */
extern const struct redirect_library redirect_openmpi_4, redirect_openmpi_5;

/* redirect_names.c */
extern const struct redirect_name redirect_names[];

/* Returns the table of the library that the program was linked with (redirect_scan.c). NULL: the
 * program was linked with libshmem or with no such library, and nothing is translated. Ends the
 * process for a library whose header the shim does not know. */
const struct redirect_library *redirect_other_library(void);

/* Ends the process if the program imports a name from that library that the shim does not define.
 * call is the function that the program has called, for the message. */
void redirect_refuse_names(const struct redirect_library *other, const char *call);

/* Reports whether mode redirect is on (mode_redirect.c). */
bool redirect_on(void);

/* Returns the function of libshmem with a name, or NULL. */
void *redirect_ours(const char *name);

/* Returns this PE's number, -1 before init. */
int redirect_pe(void);

/* Prints "redirect: CALL (PE n): cause (remedy)" and ends the process. */
void redirect_refuse(const char *call, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Refuses a call that NVIDIA's device archive makes: its kernels have the layouts of NVIDIA's host
 * library. */
void redirect_refuse_device(const char *call) __attribute__((noreturn));

/*
 * redirect_sets.c: arrays pSync and pWrk of libshmem's size, for programs that have shorter arrays.
 * All PEs call open after init, and close after the last finalize. open allocates
 * redirect_sets_bytes on the symmetric heap.
 */
extern const size_t redirect_sets_bytes;
void redirect_sets_open(void);
void redirect_sets_close(void);

/* Finds the arrays to pass in a call on an active set instead of the program's pSync and pWrk.
 * Returns false if the program's are to be passed, because the set has all PEs or is not valid. */
bool redirect_sets_find(int start, int log_stride, int size, uintptr_t sync, const char *call,
                        uintptr_t *our_sync, uintptr_t *our_work);

#endif
