/*
 * head.c: writes the head of a trace.
 *
 * The list of bypassing calls has a fixed number of entries, so that it fits in the head. Further
 * entries are only counted.
 */
#define _GNU_SOURCE
#include "head.h"

#include "json.h"

#include <pthread.h>
#include <unistd.h>

#define MAX_BYPASSING 40
#define LENGTH 120 /* bytes of an entry */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the variables below */
static char bypassing[MAX_BYPASSING][LENGTH];
static unsigned bypassing_count, bypassing_more; /* entries, and texts that found no entry */

/* The first and the last measurement of this PE's clock (preload_head_clock). */
static struct clock {
    uint64_t at, error;
    int64_t offset;
} clocks[2];
static unsigned clock_count;

/* Stores a measurement of the clock: the first and the last are in the head. */
void preload_head_clock(uint64_t at, int64_t offset, uint64_t error)
{
    pthread_mutex_lock(&lock);
    clocks[clock_count < 1 ? 0 : 1] = (struct clock){at, error, offset};
    if (clock_count < 2)
        clock_count++;
    pthread_mutex_unlock(&lock);
}

/* Adds a text to the list of bypassing calls, unless the list has it. */
void preload_head_bypassing(const char *what)
{
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < bypassing_count && strncmp(bypassing[i], what, LENGTH - 1) != 0)
        i++;
    if (i == bypassing_count && bypassing_count < MAX_BYPASSING)
        snprintf(bypassing[bypassing_count++], LENGTH, "%s", what);
    else if (i == bypassing_count)
        bypassing_more++;
    pthread_mutex_unlock(&lock);
}

/* Writes nanoseconds, which may be negative, as microseconds, and returns the end. */
static char *signed_micros(char *at, int64_t ns)
{
    if (ns < 0) {
        *at++ = '-';
        ns = -ns;
    }
    return json_micros(at, (uint64_t)ns);
}

/* Writes the measurements of the clock to `at`, as elements of a JSON array, and returns the end of
 * what it has written. */
static char *clock_list(char *at)
{
    for (unsigned i = 0; i < clock_count; i++) {
        if (i)
            *at++ = ',';
        at = JSON_LITERAL(at, "{\"at\":");
        at = json_micros(at, clocks[i].at);
        at = JSON_LITERAL(at, ",\"offset\":");
        at = signed_micros(at, clocks[i].offset);
        at = JSON_LITERAL(at, ",\"error\":");
        at = json_micros(at, clocks[i].error);
        *at++ = '}';
    }
    return at;
}

/* Writes the calls that bypass the shim to `at`, as elements of a JSON array, as many as fit before
 * end, and returns the end of what it has written. */
static char *bypassing_list(char *at, const char *end)
{
    for (unsigned i = 0; i < bypassing_count && at + 2 * LENGTH < end; i++) {
        if (i)
            *at++ = ',';
        at = json_string(at, at + LENGTH + 8, bypassing[i]);
    }
    if (bypassing_more) {
        char text[64];
        snprintf(text, sizeof text, "%u further ones", bypassing_more);
        *at++ = ',';
        at = json_string(at, at + sizeof text, text);
    }
    return at;
}

const char *preload_host_id = "";

/* Writes the head of a trace file into line: a metadata event that describes this PE. Spaces fill
 * the rest of the line, so that a later head with other numbers fits in its place. The limits of
 * the texts (300, 100, 600 bytes) keep the sum below PRELOAD_HEAD. */
void preload_head(char line[PRELOAD_HEAD], const struct preload_about *about, uint64_t lost,
                  uint64_t discarded)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    memset(line, ' ', PRELOAD_HEAD);
    pthread_mutex_lock(&lock);
    char *at = JSON_LITERAL(line, "{\"ph\":\"M\",\"name\":\"libshmem_trace\",\"pid\":");
    at = json_signed(at, about->pe);
    at = JSON_LITERAL(at, ",\"tid\":0,\"args\":{\"version\":1,\"pe\":");
    at = json_signed(at, about->pe);
    at = JSON_LITERAL(at, ",\"npes\":");
    at = json_signed(at, about->npes);
    at = JSON_LITERAL(at, ",\"host\":");
    at = json_string(at, at + 300, host);
    at = JSON_LITERAL(at, ",\"host_id\":");
    at = json_string(at, at + 100, preload_host_id);
    at = JSON_LITERAL(at, ",\"program\":");
    at = json_string(at, at + 600, about->program);
    at = JSON_LITERAL(at, ",\"library\":");
    at = json_string(at, at + 600, about->library);
    at = JSON_LITERAL(at, ",\"lost\":");
    at = json_number(at, lost);
    at = JSON_LITERAL(at, ",\"discarded\":");
    at = json_number(at, discarded);
    at = JSON_LITERAL(at, ",\"clock\":[");
    at = clock_list(at);
    at = JSON_LITERAL(at, "],\"unseen\":[");
    /* The last 200 bytes are for "n further ones" and the end of the event. */
    at = bypassing_list(at, line + PRELOAD_HEAD - 200);
    JSON_LITERAL(at, "]}}");
    pthread_mutex_unlock(&lock);
}
