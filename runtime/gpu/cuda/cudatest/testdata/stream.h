/*
 * stream.h: how the parts of the fake driver give work to a stream.
 */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work {
    enum { MOVE, FILL, STORE, STORE32, WATCH, MARK, AFTER, ATOMIC } what;
    bool rows; /* of MOVE: one row of several, which copy engines make */
    char *to;
    const char *from;
    size_t n;
    uint64_t value;
    unsigned until; /* of ATOMIC: 4 or 8 bytes, and the operation from bit 8 on */
    uint64_t compare;
    uint64_t *fetched, *claim;
    uint64_t free; /* the value of claim until a stream has done it */
    void *event;
};

/* 0, or why the caller cannot give a stream work. */
int fake_may_work(void *stream);

/* The context of a stream; of the default stream the current one. */
void *fake_stream_context(void *stream);

/* Whether the engine that runs kernels makes a copy, in time slices, for which another context than
 * the program's waits 2.4 ms (H200): a small one into mapped memory that is not one of rows, also
 * in a batch that asks for copy engines. With MPS (attribute133=1) there are no slices. */
bool fake_waits_for_slice(const struct work *w);

/* Appends to a stream. Returns 0. */
int fake_later(struct work w, void *stream);

#endif
