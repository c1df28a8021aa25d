/*
 * mailbox.h: the memory in which two-sided messages wait for their receiver.
 *
 * A PE has a mailbox for each sender, to which only that PE writes: a ring of bytes with one record
 * after the other. A record begins with its mark, which is 0 until all of the record is there: the
 * sender stores the mark last, with release order, and the receiver reads it with acquire order. So
 * no order between records is needed. The receiver accepts records in any order, and frees memory
 * from the front: it zeroes the first word of each cache line, where a later mark may be, and then
 * adds the freed bytes to a word in the sender's memory, the credit. The sender never has more
 * bytes under way than the ring has, so that a PE's memory for messages is limited, even if the PE
 * receives nothing. Bytes are numbered from init on, across all laps of the ring, whose size is a
 * power of two; sent, credit, head and `at` below are such numbers.
 *
 * A record is never cut: the last one of a lap continues after the end of the ring.
 *
 * Nothing here moves bytes between PEs. Tests include it alone.
 */
#ifndef SHMEMI_MAILBOX_H
#define SHMEMI_MAILBOX_H

#include "zz_control.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHMEMI_MAIL_LINE SHMEMI_CACHE_LINE

enum shmemi_mail_kind {
    SHMEMI_MAIL_WHOLE = 1,   /* the bytes of the message follow */
    SHMEMI_MAIL_REQUEST = 2, /* the bytes are at the sender: struct shmemi_mail_request follows */
    SHMEMI_MAIL_KIND = 3,    /* the bits of a mark that have one of these two */
    SHMEMI_MAIL_TAKEN =
        4, /* a bit, set by the receiver: it has the message, but the memory is not free yet */
    SHMEMI_MAIL_BITS = 8, /* the size of the message begins at this bit of a mark */
};

/* The longest message: its size has to fit into the mark. */
#define SHMEMI_MAIL_LONGEST (((uint64_t)1 << 48) - 1)

/* In a receive, for the tag or the PE: any. */
enum { SHMEMI_MAIL_ANY = -1 };

/* A record: its header, and the bytes of the message or a struct shmemi_mail_request. */
struct shmemi_mail {
    uint64_t mark; /* kind and size; 0: the record is not complete yet */
    int32_t tag;
    uint32_t send; /* of a request: index of its entry in the sender's table of long messages */
    char bytes[];  /* of the message, or a struct shmemi_mail_request */
};
_Static_assert(sizeof(struct shmemi_mail) == 16, "short messages fit a line");

/* A request to send, in place of the bytes of a long message. The receiver replies to it. */
struct shmemi_mail_request {
    int64_t source;  /* offset of the bytes from the user heap, or SHMEMI_MAIL_PRIVATE */
    uint64_t number; /* number of the first reply */
};

#define SHMEMI_MAIL_PRIVATE INT64_MIN /* in place of an offset: the memory is not symmetric */

/* A reply to a request, in the memory of its sender: clear to send, or finished. */
struct shmemi_mail_clear {
    uint64_t number; /* stored last; replies to one request are numbered one by one */
    int64_t dest;    /* where to write the next bytes, as an offset from the receiver's user heap;
                        SHMEMI_MAIL_PRIVATE: all have arrived */
    uint64_t nbytes; /* number of these bytes */
    int64_t signal;  /* offset, as dest, of the word to set when they have been written */
    uint64_t value;  /* the value for that word */
    uint64_t unused[3];
};

/* The replies to one request: two may be under way. */
struct shmemi_mail_send {
    struct shmemi_mail_clear clear[2];
};
_Static_assert(sizeof(struct shmemi_mail_send) == SHMEMI_MAIL_SEND_BYTES, "as the area has them");

/* Returns the mark of a record. nbytes is the size of the message, also if the record has only a
 * request. */
static inline uint64_t shmemi_mail_mark(enum shmemi_mail_kind kind, uint64_t nbytes)
{
    return nbytes << SHMEMI_MAIL_BITS | kind;
}

/* Returns the size of the message whose record has this mark. */
static inline uint64_t shmemi_mail_size(uint64_t mark)
{
    return mark >> SHMEMI_MAIL_BITS;
}

/* Returns the bytes of the longest record of a mailbox whose ring has `ring` bytes: a quarter of
 * the ring, but at least a cache line and at most SHMEMI_MAIL_RECORD. */
static inline uint32_t shmemi_mail_longest(uint32_t ring)
{
    if (ring / 4 < SHMEMI_MAIL_LINE)
        return SHMEMI_MAIL_LINE;
    return ring / 4 < SHMEMI_MAIL_RECORD ? ring / 4 : SHMEMI_MAIL_RECORD;
}

/* Returns the bytes of the longest message that is sent whole. */
static inline uint32_t shmemi_mail_short(uint32_t ring)
{
    return shmemi_mail_longest(ring) - (uint32_t)sizeof(struct shmemi_mail);
}

/* Returns the bytes of a mailbox: the ring, and memory behind it for the rest of a record that
 * begins in the ring's last cache line. */
static inline size_t shmemi_mailbox_bytes(uint32_t ring)
{
    return (size_t)ring + shmemi_mail_longest(ring) - SHMEMI_MAIL_LINE;
}

/* Returns the bytes of a record, without the unused rest of its last cache line. */
static inline uint64_t shmemi_mail_bytes(uint64_t mark)
{
    return sizeof(struct shmemi_mail) + ((mark & SHMEMI_MAIL_KIND) == SHMEMI_MAIL_REQUEST
                                             ? sizeof(struct shmemi_mail_request)
                                             : shmemi_mail_size(mark));
}

/* Returns the bytes that a record occupies in the ring, whole cache lines; 0 if no record can have
 * such a mark. */
static inline uint32_t shmemi_mail_span(uint64_t mark, uint32_t ring)
{
    uint64_t kind = mark & SHMEMI_MAIL_KIND, n = shmemi_mail_bytes(mark);
    if ((kind != SHMEMI_MAIL_WHOLE && kind != SHMEMI_MAIL_REQUEST) ||
        (mark & ((1 << SHMEMI_MAIL_BITS) - 1) & ~(uint64_t)(SHMEMI_MAIL_KIND | SHMEMI_MAIL_TAKEN)))
        return 0;
    n = (n + SHMEMI_MAIL_LINE - 1) / SHMEMI_MAIL_LINE * SHMEMI_MAIL_LINE;
    return n <= shmemi_mail_longest(ring) ? (uint32_t)n : 0;
}

/* ------------------------------------------------------------------ the sender */

/* Reports whether there is room for a record of `span` bytes (shmemi_mail_span). sent and credit:
 * how many bytes the sender has sent, and the receiver has freed, since init. */
static inline bool shmemi_mail_fits(uint64_t sent, uint64_t credit, uint32_t span, uint32_t ring)
{
    return sent + span - credit <= ring;
}

/* Returns the offset in a mailbox of the byte with a number, which counts all bytes since init.
 * ring is a power of two. */
static inline size_t shmemi_mail_place(uint64_t sent, uint32_t ring)
{
    return sent & (ring - 1);
}

/* ---------------------------------------------------------------- the receiver */

/* Returns the record that begins at the byte with this number. */
static inline struct shmemi_mail *shmemi_mail_at(char *box, uint64_t at, uint32_t ring)
{
    return (struct shmemi_mail *)(void *)(box + shmemi_mail_place(at, ring));
}

/* What shmemi_mail_find returns. */
struct shmemi_mail_search {
    struct shmemi_mail *found; /* or NULL */
    uint32_t others;           /* messages with other tags that were found before */
    bool damaged;              /* the mailbox has something that its sender cannot have sent */
};

/* Searches a mailbox for the first message with a tag, or with any (SHMEMI_MAIL_ANY), that the
 * receiver has not accepted. head: the number of the first byte that is not free yet. */
static inline struct shmemi_mail_search shmemi_mail_find(char *box, uint64_t head, int tag,
                                                         uint32_t ring)
{
    struct shmemi_mail_search s = {NULL, 0, false};
    for (uint64_t at = head; at - head < ring;) {
        struct shmemi_mail *m = shmemi_mail_at(box, at, ring);
        uint64_t mark = __atomic_load_n(&m->mark, __ATOMIC_ACQUIRE);
        if (mark == 0)
            break;
        uint32_t span = shmemi_mail_span(mark, ring);
        if (span == 0 || at + span - head > ring) {
            s.damaged = true;
            break;
        }
        if (!(mark & SHMEMI_MAIL_TAKEN) && (tag == SHMEMI_MAIL_ANY || tag == m->tag)) {
            s.found = m;
            break;
        }
        s.others += !(mark & SHMEMI_MAIL_TAKEN);
        at += span;
    }
    return s;
}

/* Marks a message as accepted, so that later searches pass over it. Only the receiver writes a mark
 * that is not 0, so no order is needed. */
static inline void shmemi_mail_remove(struct shmemi_mail *m)
{
    __atomic_store_n(&m->mark, m->mark | SHMEMI_MAIL_TAKEN, __ATOMIC_RELAXED);
}

/* Clears the records at the front that the receiver has accepted, and returns the number of the
 * first byte after them. It stores 0 with no order: the sender may write there only after an
 * addition to its credit, which comes later and orders the stores. */
static inline uint64_t shmemi_mail_release(char *box, uint64_t head, uint32_t ring)
{
    for (;;) {
        struct shmemi_mail *m = shmemi_mail_at(box, head, ring);
        uint64_t mark = __atomic_load_n(&m->mark, __ATOMIC_RELAXED);
        if (!(mark & SHMEMI_MAIL_TAKEN))
            return head;
        uint32_t span = shmemi_mail_span(mark, ring);
        for (uint32_t i = 0; i < span; i += SHMEMI_MAIL_LINE)
            __atomic_store_n((uint64_t *)(void *)((char *)m + i), 0, __ATOMIC_RELAXED);
        head += span;
    }
}

/* Reports whether `bytes` freed bytes are enough to update the sender's credit. With a larger limit
 * a sender might wait although there is room for its longest record, a quarter of the ring. */
static inline bool shmemi_mail_worth(uint64_t bytes, uint32_t ring)
{
    return bytes >= ring / 4;
}

#endif
