/*
 * modes.c: the list of all modes. The first sees a call as the program made it, and the last as
 * the library gets it. redirect is the first: it translates, so that the others see the handles and
 * constants of the library that is called.
 */
#include "preload.h"

extern const struct preload_mode preload_redirect; /* mode_redirect.c */
extern const struct preload_mode preload_trace;    /* mode_trace.c */
extern const struct preload_mode preload_slow;     /* mode_slow.c */
extern const struct preload_mode preload_early;    /* mode_early.c */
extern const struct preload_mode preload_chaos;    /* mode_chaos.c */

const struct preload_mode *const preload_modes[] = {
    &preload_redirect, &preload_trace, &preload_slow, &preload_early, &preload_chaos, NULL,
};

_Static_assert(sizeof preload_modes / sizeof *preload_modes <= PRELOAD_MODES + 1,
               "PRELOAD_MODES in preload.h is too small");
