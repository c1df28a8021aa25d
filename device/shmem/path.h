/*
 * path.h: the path to a PE: an address for loads and stores, or the ring.
 */
#ifndef SHMEM_PATH_H
#define SHMEM_PATH_H

#include "fault.h"
#include "map.h"

#ifdef SHMEMI_KERNEL

/*
 * Stops the kernel, with a report to the host, if pe is not a PE of the job. Before init and after
 * finalize there are no PEs, and the report says that the library is not initialised. address and
 * length are for the report.
 */
SHMEMI_D void shmemi_check_pe(const struct shmemi_device_image *image, uint32_t call, int pe,
                              const void *address, uint64_t length)
{
    if ((uint32_t)pe >= (uint32_t)image->job.n_pes)
        shmemi_fault(image, image->job.n_pes == 0 ? SHMEMI_FAULT_INIT : SHMEMI_FAULT_PE, call, pe,
                     (uint64_t)(uintptr_t)address, length);
}

/* With SHMEM_CHECKS=full (job.checks is 2): stops the kernel if a range is not within the user
 * heap. A symmetric object has the same offset in each PE's heap, so the range is compared with
 * this PE's.
 */
SHMEMI_D void shmemi_check_range(const struct shmemi_device_image *image, uint32_t call, int pe,
                                 const void *address, uint64_t length)
{
    if (image->job.checks > 1) {
        uint64_t at = (uint64_t)(uintptr_t)address - image->job.heap;
        if (at > image->job.heap_size || length > image->job.heap_size - at)
            shmemi_fault(image, SHMEMI_FAULT_RANGE, call, pe, (uint64_t)(uintptr_t)address, length);
    }
}

/* Returns the offset of a symmetric address in this PE's segment, the memory that other PEs access.
 * It is the same on all PEs. */
SHMEMI_D uint64_t shmemi_offset(const struct shmemi_device_image *image, const void *address)
{
    return (uint64_t)(uintptr_t)address - image->job.segment;
}

/* Returns the address at which this GPU has mapped the segment of a PE, or 0. It is for PEs beyond
 * the table of addresses in the image, and for all while that table is empty (shmemi_direct). */
SHMEMI_COLD uint64_t shmemi_direct_beyond(const struct shmemi_device_image *image, int pe)
{
    return (uint64_t)(uintptr_t)((const struct shmemi_device_peer *)image->job.peers)[pe].direct;
}

/*
 * Returns the address, for loads and stores, of PE pe's copy of a symmetric address, or NULL. pe is
 * a PE of the job, which the caller has checked. When every range is to be checked, the image has
 * no addresses, so that no call takes the fast path, and the job's table has them.
 */
SHMEMI_D char *shmemi_direct(const struct shmemi_device_image *image, const void *address, int pe)
{
    uint64_t base = (uint32_t)pe < SHMEMI_IMAGE_PES && image->job.checks <= 1
                        ? image->direct[pe]
                        : shmemi_direct_beyond(image, pe);
    return base == 0 ? NULL : (char *)(uintptr_t)(base + shmemi_offset(image, address));
}

/*
 * Is the fast path of shmemi_reach: returns 1 and sets *at to the address of PE pe's copy of a
 * symmetric address, if the image (the job's state in constant memory) has that PE's address, which
 * it has only for PEs of the job; otherwise returns 0, and *at has no meaning. Any pe may be
 * passed: `place` is a valid index for it. It has no checks and no other look-ups, and one branch
 * decides: each test or load that waits for the one before costs a put with its quiet some 0.02 us
 * (H200).
 */
SHMEMI_D int shmemi_plain(const struct shmemi_device_image *image, const void *address, int pe,
                          char **at)
{
    uint32_t place = (uint32_t)pe % SHMEMI_IMAGE_PES;
    uint64_t base = image->direct[place];
    *at = (char *)(uintptr_t)(base + shmemi_offset(image, address));
    return __builtin_expect((base != 0) & (place == (uint32_t)pe), 1);
}

/* Checks the arguments that every operation has. Returns the address of the PE's copy, or NULL: the
 * operation uses the ring. */
SHMEMI_COLD char *shmemi_reach_slowly(const struct shmemi_device_image *image, uint32_t call,
                                      const void *address, uint64_t length, int pe)
{
    shmemi_check_pe(image, call, pe, address, length);
    shmemi_check_range(image, call, pe, address, length);
    return shmemi_direct(image, address, pe);
}

/*
 * Returns the address of the PE's copy, or NULL if the operation uses the ring. For a PE whose
 * address is in the image there is nothing to check; for others it calls shmemi_reach_slowly.
 */
SHMEMI_D char *shmemi_reach(const struct shmemi_device_image *image, uint32_t call,
                            const void *address, uint64_t length, int pe)
{
    char *at;
    if (!shmemi_plain(image, address, pe, &at))
        return shmemi_reach_slowly(image, call, address, length, pe);
    __builtin_assume(at != NULL); /* so that the caller does not test it again */
    return at;
}

/*
 * Returns the state of the job with only one of its rings: all operations in it, of any thread, are
 * in the order of pushing, and a fence waits for no other ring. Numbers beyond the last ring wrap
 * around. Without rings it returns the state itself.
 */
SHMEMI_D const struct shmemi_device_image *shmemi_queue(const struct shmemi_device_image *image,
                                                        uint32_t queue)
{
    const struct shmemi_device_image *queues =
        (const struct shmemi_device_image *)image->job.queues;
    return queues == NULL ? image : queues + queue % image->job.ring_count;
}

/*
 * An operation for a ring. Functions pass its address: nvcc stores the values that a function needs
 * after a call in registers above those of the callee, so a kernel needs as many registers as all
 * functions in the call chain together. Values in memory need none. For the same reason functions
 * that push are called last, and not in branches that join again, whose state needs one more
 * register.
 */
struct shmemi_operation {
    const struct shmemi_ring *ring;
    int slots;
    struct shmemi_words words;
};

/* An operation whose reply the thread waits for, and the reply place, in the same ring, for that
 * reply. */
struct shmemi_pending_reply {
    struct shmemi_operation op;
    uint32_t place, turn; /* number of the reply place, and how many replies it has had before */
    uint32_t shift;       /* where the reply's value begins in its word, in bits */
};

/*
 * Pushes one operation of the calling thread. Threads of a warp that call this together reserve
 * their slots by one addition. If the ring was stopped, nothing is stored: the job ends, and waits
 * for the operation end, too. Not inlined: with the operation's words in registers, a kernel that
 * puts would need more than the 64 registers that each of 1024 threads has. For tests that compile
 * this file for the host, the other branch does the same.
 */
SHMEMI_COLD void shmemi_submit(const struct shmemi_operation *op)
{
#ifdef __CUDACC__
    int status;
    uint64_t p = shmemi_reserve_lanes(op->ring, op->slots, &status);
    if (status == 0)
        shmemi_store_some(op->ring, p, &op->words, op->slots);
#else
    shmemi_push_lanes(op->ring, &op->words, op->slots);
#endif
}

/* Pushes an operation on a PE whose memory this GPU cannot address into the calling thread's ring,
 * and does not wait for it. words are its packed words (zz_wire.h), which take `slots` slots. */
SHMEMI_D void shmemi_send(const struct shmemi_device_image *image, int pe,
                          const struct shmemi_words *words, int slots)
{
    struct shmemi_operation op = {shmemi_ring_for(&image->job, (uint32_t)pe), slots, *words};
    shmemi_submit(&op);
}

/* Called before a request to the proxy: chooses the ring, claims a place for the reply in it (the
 * search begins at the thread's number), and remembers how many replies the place has had. If the
 * job ends, so does the thread. */
SHMEMI_COLD void shmemi_open_reply(const struct shmemi_device_image *image, int pe,
                                   struct shmemi_pending_reply *q)
{
    q->op.ring = shmemi_ring_for(&image->job, (uint32_t)pe);
    q->shift = 0;
    q->place = shmemi_reply_claim(q->op.ring, threadIdx.x);
    if (q->place == SHMEMI_NO_REPLY)
        shmemi_end();
    q->turn = shmemi_reply_turn(q->op.ring, q->place);
}

/*
 * Waits for the proxy's reply to the request in q, and returns its value. If the operation failed,
 * or if the ring was stopped, the host reports the cause and the job ends, and so does the thread.
 */
SHMEMI_COLD uint64_t shmemi_await_reply(const struct shmemi_pending_reply *q)
{
    uint64_t value = 0;
    if (shmemi_reply_wait(q->op.ring, q->place, q->turn, &value) != 0)
        shmemi_end();
    return value >> q->shift;
}

/* Pushes the request that was packed for the reply place of q, waits for the reply, and returns its
 * value. */
SHMEMI_D uint64_t shmemi_request(struct shmemi_pending_reply *q, const struct shmemi_words *words,
                                 int slots)
{
    q->op.words = *words;
    q->op.slots = slots;
    shmemi_submit(&q->op);
    return shmemi_await_reply(q);
}

#endif

#endif
