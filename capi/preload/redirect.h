/*
 * redirect.h: what the units of mode redirect share.
 *
 * The program was compiled against the header of another library. What that header has put into the
 * program (constants, the size of handles, data symbols) is "theirs"; libshmem's is "ours".
 */
#ifndef PRELOAD_REDIRECT_H
#define PRELOAD_REDIRECT_H

#include "preload.h"

/* One constant of a header that is compiled into programs. */
struct redirect_value {
    const char *name;
    long theirs, ours;
};

/* A variable of the other library that programs read a handle from. */
struct redirect_symbol {
    const char *name;
    int32_t handle; /* ours */
};

/* A function that only the other library has, and the one of ours that does the same with the same
 * arguments. */
struct redirect_name {
    const char *theirs, *ours;
};

/* What programs of one library have compiled in. Lists end with a row without a name. */
struct redirect_library {
    const char *name;
    bool pointers; /* handles are pointers, NULL for an invalid one */
    const struct redirect_symbol *symbols;
    const struct redirect_value *options; /* of contexts, bits of a mask */
    const struct redirect_value *signals; /* operations */
    bool small_sync; /* arrays pSync and pWrk are shorter than ours, with other values */
    const struct redirect_value *sizes;
    const struct redirect_value *same; /* compared by the tests, and not translated */
    int major, minor;
    const char *vendor;
    const char *heap; /* their environment variable of the size of the heap */
};

/* redirect_openmpi.c */
extern const struct redirect_library redirect_openmpi_4, redirect_openmpi_5;

/* redirect_names.c */
extern const struct redirect_name redirect_names[];

/* redirect_scan.c: the library that the program was linked with; NULL: ours, nothing to translate.
 * Does not return for a library that is not known. */
const struct redirect_library *redirect_behind(void);

/* Ends the process if the program takes a name from that library that no function of the shim
 * stands in front of. call is the call of the program. */
void redirect_refuse_names(const struct redirect_library *behind, const char *call);

/* mode_redirect.c: whether the mode is on; a function of libshmem by its name, NULL if there is
 * none; this PE's number, -1 before init. */
bool redirect_on(void);
void *redirect_ours(const char *name);
int redirect_pe(void);

/* "redirect: CALL (PE n): cause (remedy)", and the end of the process. */
void redirect_refuse(const char *call, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* The same for a call that NVIDIA's device archive makes: the kernels in it have the layouts of
 * NVIDIA's host library. */
void redirect_refuse_device(const char *call) __attribute__((noreturn));

/*
 * redirect_sets.c: arrays pSync and pWrk of libshmem's size, for programs that have shorter ones.
 * open is called after init, on all PEs, and close after the last finalize. bytes returns the size
 * that it allocates on the heap.
 */
extern const size_t redirect_sets_bytes;
void redirect_sets_open(void);
void redirect_sets_close(void);

/* The arrays that take the place of those of a call of an active set. False: leave the program's,
 * because the set has all PEs, or is not valid. */
bool redirect_sets_find(int start, int log_stride, int size, uintptr_t sync, const char *call,
                        uintptr_t *our_sync, uintptr_t *our_work);

#endif
