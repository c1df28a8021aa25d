/*
 * stream.h: the functions by which the parts of the fake driver queue work at a stream.
 */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scopes of cuFlushGPUDirectRDMAWrites: the GPU that owns the memory, or all. Its only target is
 * the current context (0). */
enum { OWNER = 100, ALL = 200 };

/* A piece of work of a stream. MOVE copies n bytes, FILL writes n bytes, STORE writes 8 bytes and
 * STORE32 writes 4, ATOMIC is one atomic operation, MARK records an event, AFTER waits for one, and
 * WATCH waits for a word. */
struct work {
    enum { MOVE, FILL, STORE, STORE32, WATCH, MARK, AFTER, ATOMIC } what;
    bool rows; /* of MOVE: one row of several, which copy engines make */
    char *to;
    const char *from; /* of MOVE */
    size_t n;         /* of MOVE and FILL */
    /* Of FILL: 4 bytes, which it repeats; of the stores: what they write; of ATOMIC: the operand;
     * of WATCH: what it compares the word with; of MARK and AFTER: which record of the event, from
     * 1 on; an AFTER of record 0 does not wait. */
    uint64_t value;
    /* Of WATCH: the condition, a flag of cuStreamWaitValue64: 0 if word - value >= 0 (as signed
     * numbers), 1 if they are equal, 2 if they have a bit in common. Of ATOMIC: the size, 4 or 8
     * bytes, in bits 0 to 7, and the operation (enum shmemi_amo, abi/zz_fabric.h) from bit 8 on. */
    unsigned until;
    uint64_t compare;  /* of ATOMIC: the comparand of a compare and swap */
    uint64_t *fetched; /* of ATOMIC: where the old value goes */
    /* Of ATOMIC that is queued at several streams, of which the first does it: *claim is `free`
     * until then, and free + 2 afterwards. Else claim is NULL. */
    uint64_t *claim, free;
    void *event; /* of MARK and AFTER */
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

/* Appends work to a stream (NULL: the default one), which must exist. It takes fake_lock. If the
 * queue is full, it waits if a thread does the work (works=1), else it ends the process. Returns 0,
 * so that a call of the driver can return its result. */
int fake_later(struct work w, void *stream);

#endif
