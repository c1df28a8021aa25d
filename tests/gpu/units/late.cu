/*
 * late.cu: a library with a kernel, which is loaded and unloaded while the program runs.
 */
#include "units.h"

extern "C" __attribute__((visibility("default"))) int late_start(struct unit_words *to, int *from,
                                                                 int number)
{
    return unit_run(to, from, number);
}
