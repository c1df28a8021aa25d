/*
 * check_buffer.h: registration of the program's own memory, and refusals.
 */
#ifndef CHECK_BUFFER_H
#define CHECK_BUFFER_H

#include "check.h"

#include <shmemx.h>

static void *symmetric(void *p, size_t n)
{
    void *s = shmemx_buffer_register_symmetric(p, n, 0);
    CHECK(s != NULL, "%s", shmemx_last_error_text());
    if (s == NULL)
        shmem_global_exit(1);
    return s;
}

static void release(void *s, size_t n)
{
    int rc = shmemx_buffer_unregister_symmetric(s, n);
    CHECK(rc == 0, "unregister: %s", shmemx_last_error_text());
}

/* The error after a refusal, of this PE's buffer or of another's. */
static void refused(void *p, size_t n, int flags, const char *why)
{
    void *s = shmemx_buffer_register_symmetric(p, n, flags);
    CHECK(s == NULL, "%s: it was registered", why);
    CHECK(shmemx_last_error() == SHMEMX_ERROR_BUFFER, "%s: no error", why);
    const char *text = shmemx_last_error_text();
    CHECK(text != NULL && strstr(text, why) != NULL, "not %s, but %s", why, text ? text : "none");
}

#endif
