/*
 * counts.c: sums up the threads' counts of calls.
 */
#include "counts.h"

#include "json.h"
#include "output.h"

/* Writes the event with the counts of all threads, if one has changed since the last event. Only
 * the thread that writes the trace calls it. */
void preload_counts(void)
{
    static char text[PRELOAD_CALLS * 96]; /* for each function its name, a number and punctuation */
    static uint64_t before;
    uint64_t sum = 0;
    char *at = text;
    for (unsigned i = 0; i < PRELOAD_CALLS; i++) {
        uint64_t n = 0;
        for (struct preload_ring *r = preload_rings(); r; r = r->next)
            n += atomic_load_explicit(&r->counts[i], memory_order_relaxed);
        if (n == 0)
            continue;
        sum += n;
        if (at > text)
            *at++ = ',';
        const char *name = preload_name(i);
        *at++ = '"';
        at = json_text(at, name, strlen(name));
        at = JSON_LITERAL(at, "\":");
        at = json_number(at, n);
    }
    *at = '\0';
    if (sum > before)
        preload_output_about("libshmem_counts", text);
    before = sum;
}
