/*
 * output.h: the files of a trace: DIR/PE.json, and the older parts DIR/PE.1.json and so on.
 * Only the writer's thread calls these functions.
 */
#ifndef PRELOAD_OUTPUT_H
#define PRELOAD_OUTPUT_H

#include "ring.h"

/* The fields of a trace's head, except its counts. The texts are not copied. */
struct preload_about {
    int pe, npes;
    const char *library, *program;
};

/* Parts that are kept, each of a quarter of the bytes that a trace may have. */
#define PRELOAD_PARTS 4

/* Creates the first file. False, after a message: nothing can be recorded. */
bool preload_output_open(const char *dir, uint64_t most, const struct preload_about *about);

/* Adds the event of a record. tid 0 of the ring is never used. */
void preload_output_call(struct preload_ring *ring, const struct preload_record *record);

/* Adds a metadata event: its arguments, in JSON without the braces. */
void preload_output_about(const char *name, const char *arguments);

/* Hands what is buffered to the system, and brings the head up to date. */
void preload_output_flush(uint64_t lost);

/* Ends the file, which may be continued by further events. */
void preload_output_end(uint64_t lost);

/* False after an error, which has been reported. */
bool preload_output_works(void);

/* Events that are in files that were deleted, to keep within the bound. */
uint64_t preload_output_discarded(void);

#endif
