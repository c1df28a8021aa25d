/*
 * stream_abi.h: what the front has the core put into a stream. The arguments travel
 * in a struct shmemi_stream_call, of which each call sets what it has.
 */
#ifndef SHMEMI_STREAM_ABI_H
#define SHMEMI_STREAM_ABI_H

enum shmemi_stream_what {
    SHMEMI_STREAM_PUT,        /* dest, source, count, pe, nbi */
    SHMEMI_STREAM_GET,        /* the same */
    SHMEMI_STREAM_P,          /* dest, value, width, pe */
    SHMEMI_STREAM_PUT_SIGNAL, /* as put, and signal, value, op */
    SHMEMI_STREAM_SIGNAL,     /* signal, value, op, pe */
    SHMEMI_STREAM_WAIT,       /* dest, source or value, count, signal, op, width */
    SHMEMI_STREAM_COUNT,      /* as wait, for one word of 64 bits that counts */
    SHMEMI_STREAM_QUIET,
    SHMEMI_STREAM_SYNC, /* team and team_pes, as all that follow */
    SHMEMI_STREAM_BARRIER,
    SHMEMI_STREAM_BROADCAST, /* dest, source, count, pe */
    SHMEMI_STREAM_FCOLLECT,  /* dest, source, count */
    SHMEMI_STREAM_ALLTOALL,  /* the same */
    SHMEMI_STREAM_REDUCE,    /* dest, source, count, op, width */
    SHMEMI_STREAM_DRAIN,     /* returns when the stream has done all */
};

/* Code that the program has loaded. */
enum shmemi_module_what { SHMEMI_MODULE, SHMEMI_LIBRARY };

#endif
