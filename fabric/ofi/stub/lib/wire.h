/*
 * wire.h: the data that endpoints share. Each endpoint has a file that its peers map: its regions
 * by key, a ring of records, and the counts of its queues. The initiator of an operation does all
 * the work, as the NIC would: it writes the target's memory itself and puts a record into the
 * target's ring, so that nothing needs the target's processor.
 *
 * A ring has many writers, which hold the lock, and one reader, which needs none: a writer stores a
 * record and then moves tail with release; the reader reads it and then moves head with release,
 * which frees its space. The lock is robust: a writer that is killed has moved no index yet.
 */
#ifndef STUB_WIRE_H
#define STUB_WIRE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct op;

enum {
    WIRE_REGIONS = 4096,
    WIRE_KNOWN = 32768,    /* a table of addresses, at most half full */
    WIRE_INLINE = 9216,    /* bytes of a message that fit a record: more than an MTU */
    WIRE_BYTES = 512 << 10 /* of messages in a ring, beside room for all completions */
};

enum wire_state { WIRE_NEW, WIRE_OPEN, WIRE_CLOSED };

struct wire_region {
    _Atomic uint64_t key;   /* the key plus 1; 0: the slot is free */
    _Atomic uint32_t users; /* initiators that move its bytes now */
    uint32_t remote;        /* what peers may do: FI_REMOTE_READ, FI_REMOTE_WRITE */
    uint32_t relaxed;       /* writes pass each other on PCIe, whatever the device keeps */
    uint64_t base;          /* first address as peers name it */
    uint64_t len;
    uint64_t memory; /* where that is in the owner's memory */
};

struct wire {
    uint64_t magic;
    uint64_t id;
    pid_t pid; /* the owner's number in /proc */
    int32_t kind;
    uint64_t space;          /* its PID namespace */
    uint64_t owner_nonce;    /* a random number that the owner has at owner_nonce_at, too */
    uint64_t owner_nonce_at; /* its address there; so peers see whether the owner still lives */
    uint64_t cq_id;          /* number of the FIFO that wakes the owner */
    _Atomic uint32_t state;
    _Atomic uint32_t armed;   /* the next record wakes the owner */
    _Atomic int64_t credits;  /* receives that are posted and not used yet */
    _Atomic uint64_t cq_used; /* completions that its queue holds */
    _Atomic uint64_t cq_high; /* the most so far */
    _Atomic uint64_t cq_lost; /* completions that were lost because the queue was full */
    uint64_t cq_size;
    uint32_t unsolicited;       /* writes with data need no receive here (rules.tsv: R11) */
    _Atomic uint32_t everybody; /* the table known is full: all addresses count as known */
    _Atomic uint32_t regions;   /* slots that were ever used */
    pthread_mutex_t lock;       /* of the writers */
    _Atomic uint64_t head, tail;
    _Atomic uint64_t bytes; /* of messages in the ring */
    uint64_t ring_size;
    uint64_t ring_at; /* offset in the file */
    _Atomic uint64_t known[WIRE_KNOWN];
    struct wire_region region[WIRE_REGIONS];
};

enum record_kind {
    RECORD_PAD, /* the next record is at the beginning of the ring */
    RECORD_MESSAGE,
    RECORD_DATA,      /* a write's immediate data */
    RECORD_HELLO,     /* the request for a handshake (rules.tsv: R10) */
    RECORD_HANDSHAKE, /* the reply to it */
    RECORD_ATOMIC,    /* an atomic operation that the target's processor carries out */
    RECORD_RMA,       /* a read or write that it carries out (emulate.c) */
    RECORD_ACK        /* the reply of a target to an operation of the ring's owner */
};

/* Flags of a record: the bytes of a message are still in the initiator's memory, from `at` on; the
 * record has immediate data; the initiator waits for a RECORD_ACK. */
enum { RECORD_ELSEWHERE = 1, RECORD_HAS_DATA = 2, RECORD_WANTS_ACK = 4 };

/*
 * A record has 64 bytes. After it are the bytes of a message, the operands of an atomic operation,
 * or the initiator's vector of a read or write.
 */
struct record {
    uint32_t size; /* with the data after it, a multiple of 64 */
    uint16_t kind;
    uint16_t flags;
    uint64_t from;  /* number of the sending endpoint */
    uint64_t token; /* of the operation at its initiator */
    uint64_t len;
    uint64_t at; /* of bytes elsewhere: their address at the initiator; of a word: at the target */
    uint64_t data;
    uint64_t key;
    int32_t err;    /* status of a reply */
    uint16_t op;    /* of an atomic operation: enum fi_op; of RECORD_RMA: 1 for a read, else 0 */
    uint16_t width; /* bytes of an atomic operation's word; of RECORD_RMA: entries of the vector */
};

/* The mapping of an endpoint's file, a peer's or one of this process. */
struct mapping {
    struct mapping *next;
    uint64_t id;
    struct wire *w;
    size_t size;
    int refs;
    bool local;    /* the endpoint is one of this process */
    int wake_fd;   /* its FIFO; -1: not opened yet */
    int memory_fd; /* of its process's memory, if that is in another PID namespace; -1: not open */
    /* Of rnr.c: */
    struct op *waiting, **waiting_end; /* operations that wait for its receives */
    struct mapping *next_target;       /* the next file whose receives operations wait for */
    uint64_t seen;                     /* when its process was last found alive */
};

/* Makes the file of an endpoint; NULL with errno. */
struct mapping *wire_create(uint64_t cq_size, int kind, uint64_t cq_id);
/* Maps a peer's file. Returns NULL if it never existed or is gone. */
struct mapping *wire_open(uint64_t id);
/* Counts one more user of a mapping, for one more wire_close. */
void wire_add_user(struct mapping *m);
/* Ends the use of a mapping; the last user unmaps it. */
void wire_close(struct mapping *m);
/* Closes an endpoint to its peers, removes its file, waits until no initiator moves its bytes. */
void wire_remove(struct mapping *m);

/* Reports whether the endpoint can be reached: it is open and its process lives. */
bool wire_alive(struct mapping *m);

/*
 * Puts a record with n bytes after it into the ring. Returns PUT_DONE; PUT_AGAIN, another process
 * or thread holds the lock; PUT_FULL, the ring is full; PUT_NO_RECEIVE, the target has posted no
 * receive; PUT_OVERRUN, the target's completion queue is full. takes has bits of TAKES_.
 */
enum { TAKES_RECEIVE = 1, TAKES_ENTRY = 2 };
enum { PUT_DONE, PUT_AGAIN, PUT_FULL, PUT_NO_RECEIVE, PUT_OVERRUN };
int wire_put(struct mapping *m, const struct record *r, const void *bytes, size_t n,
             unsigned takes);
/* Returns the next record without consuming it, or NULL. */
const struct record *wire_peek(struct wire *w);
/* Consumes the record that wire_peek has returned. */
void wire_next(struct wire *w);
/* Reserves an entry of the owner's completion queue, without a record; false: it is full. */
bool wire_reserve_entry(struct wire *w);
/* Frees n entries that were reserved in the owner's completion queue. */
void wire_free_entries(struct wire *w, uint64_t n);

/* Copies bytes of this process to the memory of m's owner. Returns 0 or an errno. */
int wire_write(struct mapping *m, uint64_t to, const void *from, size_t n);
/* Copies bytes of the memory of m's owner to this process. Returns 0 or an errno. */
int wire_read(struct mapping *m, uint64_t from, void *to, size_t n);

/* Acquires the lock for changes of the owner's memory that have to be atomic. Returns false if
 * another process has it. */
bool wire_try_lock(struct wire *w);
/* Releases that lock. */
void wire_unlock(struct wire *w);

/* Makes a region known to peers, in a slot. Returns 0, or -1 if there is no such slot. */
int wire_publish(struct wire *w, int slot, const struct wire_region *r);
/* Removes the region of a slot, once no initiator moves its bytes any more. */
void wire_withdraw(struct wire *w, int slot);
/* Returns the region of a key, which is not removed before wire_release_region, or NULL. */
struct wire_region *wire_acquire_region(struct wire *w, uint64_t key);
/* Ends the use of a region that wire_acquire_region has returned. */
void wire_release_region(struct wire_region *r);

void wire_add_known(struct wire *w, uint64_t id);
bool wire_knows(struct wire *w, uint64_t id);

/* Draws a random number for an endpoint, a queue or a key; never 0. */
uint64_t wire_draw(void);

/* Makes the FIFO of a completion queue, by which peers wake its owner. Returns its descriptor. */
int wire_bell(uint64_t cq_id);
/* Removes the FIFO of a queue, and closes its descriptor. */
void wire_bell_remove(uint64_t cq_id, int fd);
/* Wakes the owner of a file by its FIFO, if it waits. */
void wire_ring(struct mapping *m);

#endif
