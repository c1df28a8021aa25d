/*
 * active.c: active sets (capi/preload/teams.c) without the shim, in a job of 4 PEs.
 */
#include "../../../capi/preload/teams.c" /* for active_set */

#include <stdio.h>

/* What teams.c needs of other units. */
const char preload_names[] = "";
const struct preload_call preload_calls[PRELOAD_CALLS];

bool preload_library_numbers(const struct preload_frame *f)
{
    (void)f;
    return false;
}

void *preload_find(unsigned number, const void *caller)
{
    (void)number, (void)caller;
    return NULL;
}

void preload_enter(void)
{
}

void preload_leave(void)
{
}

void preload_output_about(const char *name, const char *arguments)
{
    (void)name, (void)arguments;
}

static int failed;

static void expect(int start, int log_stride, int n, bool valid)
{
    const struct team *t = active_set(start, log_stride, n);
    if ((t != NULL) != valid) {
        printf("PE_start %d, logPE_stride %d, PE_size %d: %s\n", start, log_stride, n,
               valid ? "no team" : "a team");
        failed++;
    }
}

int main(void)
{
    job_pes = 4;
    expect(0, 0, 4, true);
    expect(1, 1, 2, true);
    expect(3, 30, 1, true);
    expect(1, 0, 4, false);
    expect(0, 2, 2, false);
    expect(1, 30, 3, false); /* 2^31 + 1 is no int */
    expect(INT32_MAX, 0, 2, false);
    puts(failed ? "failed" : "passed");
    return failed;
}
