/*
 * progress.h: shows on PE 0 the progress of all PEs together.
 *
 * Every PE adds its progress to one counter in PE 0's memory by a remote atomic add: it waits for
 * no answer, and PE 0 reads the counter when it has time.
 */
#ifndef RESHARD_PROGRESS_H
#define RESHARD_PROGRESS_H

#include "symmetric.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint64_t *done;      /* symmetric; PE 0's copy is the counter of all bytes */
    uint64_t total;      /* bytes that all PEs together will report */
    uint64_t unreported; /* bytes of this PE that the counter does not have yet */
    uint64_t grain;      /* bytes from which on they are added to the counter */
    bool bar;            /* one line drawn over and over; else a few lines */
    double begun, drawn; /* seconds of a clock; PE 0 only */
    int quarters;        /* already printed as lines */
    bool finished;       /* the last picture is drawn */
};

/* Seconds of a monotonic clock. */
double progress_clock(void);

/* Collective. The bar is drawn when stderr is a terminal, or when asked for. */
void progress_init(struct progress *p, struct symmetric *heap, bool bar);
void progress_free(struct progress *p);

/* Starts the clock. All PEs must have passed a barrier since progress_init. */
void progress_begin(struct progress *p, uint64_t total);

/* Adds bytes that this PE has done; on PE 0, may redraw. */
void progress_add(struct progress *p, uint64_t nbytes);

/* Reports the rest; on PE 0, waits until all PEs have reported theirs. */
void progress_end(struct progress *p);

#endif
