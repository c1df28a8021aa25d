/*
 * say.c: messages of the shim, one line each, in one write so that those of several PEs do not mix.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes a message of the shim to standard error, in one write. */
static void say(const char *format, va_list list)
{
    char line[1024] = "libshmem_preload: ";
    size_t head = sizeof "libshmem_preload: " - 1;
    int n = vsnprintf(line + head, sizeof line - head - 1, format, list);
    if (n < 0)
        return;
    size_t length =
        head + ((size_t)n < sizeof line - head - 1 ? (size_t)n : sizeof line - head - 2);
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* standard error is closed, which must not end the program */
}

/* Writes a message of the shim to standard error. */
void preload_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

/* Writes a message of the shim, and ends the process. */
void preload_refuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    _exit(1);
}
