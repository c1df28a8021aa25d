/*
 * program.h: what the programs of this folder share. Each prints lines that do not depend on the
 * library, a line a call of say, so that two runs can be compared after sorting.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n;

static void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
}

/* One write for a line, so that lines of several PEs do not mix. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[512];
    int used = snprintf(text, sizeof text, "PE %d: ", me);
    va_list rest;
    va_start(rest, format);
    used += vsnprintf(text + used, sizeof text - (size_t)used, format, rest);
    va_end(rest);
    puts(text);
    fflush(stdout);
}
