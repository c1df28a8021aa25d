/*
 * ticks.c: from ticks of records to nanoseconds.
 *
 * The rate of the processor's counter is measured: the writer reads both clocks again and again,
 * and a time between two such marks is on the line between them. The marks are at most some 100 ms
 * apart, so that an error of 50 ns in one is an error of 50 ns in the time. Calls that last longer
 * may begin before the oldest mark that is stored; for them the first mark of all is stored
 * separately.
 */
#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool preload_tsc;

/* Readings of both clocks at the same time: ticks of the records' clock, and nanoseconds of
 * CLOCK_MONOTONIC. The last MARKS of them, and the first. */
#define MARKS 64
static struct mark {
    uint64_t ticks, ns;
} marks[MARKS], first;
static unsigned count;    /* of all marks; the last is marks[(count - 1) % MARKS] */
static uint64_t to_round; /* added to CLOCK_MONOTONIC: the time since a multiple of ROUND */

/* Trace times are counted from the last multiple of 30 days after 1970. Readers keep them in
 * floating-point numbers of microseconds, which would be exact only to a quarter of a microsecond
 * if times were counted from 1970 itself. The traces of runtime/trace have the same zero. */
#define ROUND (30ull * 24 * 3600 * 1000000000ull)

/* Chooses the clock of records, and measures the difference between trace times and
 * CLOCK_MONOTONIC. */
void preload_ticks_open(void)
{
    /* All PEs of a machine must get the same to_round, or their times would differ. A thread that
     * loses the processor between the reads gets a bad pair, so the closest of 20 pairs counts. */
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        struct timespec wall;
        uint64_t before = preload_monotonic();
        clock_gettime(CLOCK_REALTIME, &wall);
        uint64_t after = preload_monotonic();
        if (after - before >= least)
            continue;
        least = after - before;
        uint64_t now = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
        to_round = now % ROUND - (before + least / 2);
    }
#if defined(__x86_64__)
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, name, sizeof name - 1);
        preload_tsc = n >= 3 && strncmp(name, "tsc", 3) == 0;
        close(fd);
    }
#endif
    preload_ticks_mark();
    first = marks[0];
}

/* Converts a time of the monotonic clock to the unit and the zero of traces. */
uint64_t preload_trace_time(uint64_t monotonic)
{
    return monotonic + to_round;
}

/* Reads both clocks at the same moment, as nearly as possible, and stores the pair. */
void preload_ticks_mark(void)
{
    /* A thread that loses the processor between the two reads gets a bad pair, so the mark is the
     * pair of five whose reads are closest to each other. */
    struct mark best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = preload_ticks();
        uint64_t ns = preload_monotonic();
        uint64_t after = preload_ticks();
        if (after - before < least) {
            least = after - before;
            best = (struct mark){before + (after - before) / 2, ns};
        }
    }
    marks[count++ % MARKS] = best;
}

/* Returns the nanoseconds for ticks t, on the line through the marks a and b. */
static uint64_t interpolate(struct mark a, struct mark b, uint64_t t)
{
    if (b.ticks == a.ticks)
        return b.ns;
    double rate = (double)(int64_t)(b.ns - a.ns) / (double)(int64_t)(b.ticks - a.ticks);
    return a.ns + (uint64_t)(int64_t)(rate * (double)(int64_t)(t - a.ticks));
}

/* Converts the clock of records to trace times. Ticks of the processor are on the line between the
 * marks (pairs of ticks and time) before and after them; `first` is the mark before ticks that are
 * earlier than all stored marks. Without ticks of the processor, records have CLOCK_MONOTONIC. */
uint64_t preload_ticks_ns(uint64_t ticks)
{
    if (!preload_tsc)
        return preload_trace_time(ticks);
    unsigned oldest = count > MARKS ? count - MARKS : 0;
    struct mark after = marks[(count - 1) % MARKS];
    for (unsigned i = count - 1; i-- > oldest;) {
        struct mark m = marks[i % MARKS];
        if (m.ticks <= ticks)
            return preload_trace_time(interpolate(m, after, ticks));
        after = m;
    }
    return preload_trace_time(interpolate(first, after, ticks));
}
