/*
 * modes.c: the modes that there are. The first sees a call as the program made it, and the last as
 * the library gets it.
 */
#include "preload.h"

extern const struct preload_mode preload_trace; /* mode_trace.c */

const struct preload_mode *const preload_modes[] = {
    &preload_trace,
extern const struct preload_mode preload_redirect;

const struct preload_mode *const preload_modes[] = {
    &preload_redirect,
    NULL,
};

_Static_assert(sizeof preload_modes / sizeof *preload_modes <= PRELOAD_MODES + 1,
               "PRELOAD_MODES in preload.h is too small");
