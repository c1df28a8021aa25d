/*
 * lost.c: the files of a trace (capi/preload/output.c) without the shim. 7 calls are lost before
 * the first event is written, which fails as on a full disk. The argument is the folder of the
 * trace.
 */
#define _GNU_SOURCE
#include "head.h"
#include "teams.h"
#include "ticks.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* What output.c needs of other units. */
void preload_say(const char *format, ...)
{
    puts(format);
}

const char preload_names[] = "shmem_init";
const struct preload_call preload_calls[PRELOAD_CALLS];

uint64_t preload_ticks_ns(uint64_t ticks)
{
    return ticks;
}

void preload_teams_reset(void)
{
}

void preload_teams_describe(void)
{
}

static struct preload_ring ring;

int main(int argc, char **argv)
{
    const struct preload_about about = {.npes = 1, .library = "", .program = ""};
    /* The file has a line of two bytes and the head, which may still be overwritten. */
    const struct rlimit full = {.rlim_cur = 2 + PRELOAD_HEAD, .rlim_max = RLIM_INFINITY};
    const struct preload_record record = {.end = 1};
    ring.tid = 1;
    if (argc < 2 || !preload_output_open(argv[1], 1 << 30, &about))
        return 1;
    signal(SIGXFSZ, SIG_IGN);
    preload_output_call(&ring, &record);
    if (setrlimit(RLIMIT_FSIZE, &full) != 0)
        return 1;
    preload_output_flush(7);
    return preload_output_works();
}
