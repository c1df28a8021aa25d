/*
 * stream.h: the functions by which the parts of the fake driver queue work at a stream.
 */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of work of a stream. MARK records an event, AFTER waits for one, and WATCH waits for a
 * word. */
struct work {
    enum { MOVE, FILL, STORE, STORE32, WATCH, MARK, AFTER, ATOMIC } what;
    bool rows; /* of MOVE: one row of several, which copy engines make */
    char *to;
    const char *from;
    size_t n;
    uint64_t value;
    unsigned until; /* of WATCH: the condition; of ATOMIC: 4 or 8 bytes, from bit 8 the operation */
    uint64_t compare;
    uint64_t *fetched, *claim;
    uint64_t free; /* the value of *claim until a stream has done the operation */
    void *event;
};

/* Returns 0, or the error of a call that queues work at a stream. */
int fake_may_work(void *stream);

/* Returns the context of a stream; of the default stream the current context. */
void *fake_stream_context(void *stream);

/* Reports whether the engine that runs kernels makes the copy w, so that a context other than the
 * program's waits up to 2.4 ms for a time slice (H200). It makes small copies from main memory into
 * mapped memory, except rows, also in a batch that asks for copy engines. With MPS (attribute133=1)
 * there are no time slices. */
bool fake_waits_for_slice(const struct work *w);

/* Appends work to a stream. Returns 0. */
int fake_later(struct work w, void *stream);

#endif
