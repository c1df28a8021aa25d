/*
 * log.c: writes lines for tests to files. Each line is one write to a file that is opened for it,
 * so that processes may share the file.
 */
#define _GNU_SOURCE
#include "settings.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends a line to a file, in one write. */
static void append(const char *file, const char *format, va_list args)
{
    char line[512];
    int n = vsnprintf(line, sizeof line, format, args);
    int fd = file != NULL && *file != 0
                 ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0)
        return;
    n = n < (int)sizeof line ? n : (int)sizeof line - 1;
    if (write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

/* Adds a line to the file of FAKE_NIC_LOG: a registration, or a refusal. */
void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(getenv("FAKE_NIC_LOG"), format, args);
    va_end(args);
}

/* Appends a line to the file of the setting log, which a test reads: the use of the queues, or an
 * option. */
void count_line(const char *format, ...)
{
    char file[256];
    setting_text("log", file, sizeof file);
    va_list args;
    va_start(args, format);
    append(file, format, args);
    va_end(args);
}

/* Ends the process with a message that names a rule: the real provider has an assertion or a crash
 * here. */
_Noreturn void die(enum rule_id id, const char *format, ...)
{
    static const char *const names[] = {RULE_NAMES};
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "stub: %s: %s\n", names[id], line);
    fflush(stderr);
    abort();
}
