/*
 * route.h: the way to a PE: an address for loads and stores, or the ring.
 */
#ifndef SHMEM_ROUTE_H
#define SHMEM_ROUTE_H

#include "fault.h"
#include "map.h"

#ifdef SHMEMI_KERNEL

/*
 * Refuses a number that is not a PE. Without a job no number is one: then the call came before init
 * or after finalize.
 */
SHMEMI_D void shmemi_check_pe(const struct shmemi_device_image *image, uint32_t call, int pe,
                              const void *address, uint64_t length)
{
    if ((uint32_t)pe >= (uint32_t)image->job.n_pes)
        shmemi_fault(image, image->job.n_pes == 0 ? SHMEMI_FAULT_INIT : SHMEMI_FAULT_PE, call, pe,
                     (uint64_t)(uintptr_t)address, length);
}

/* With SHMEM_CHECKS=full: refuses a range that is not within the user heap. */
SHMEMI_D void shmemi_check_range(const struct shmemi_device_image *image, uint32_t call, int pe,
                                 const void *address, uint64_t length)
{
    if (image->job.checks > 1) {
        uint64_t at = (uint64_t)(uintptr_t)address - image->job.heap;
        if (at > image->job.heap_size || length > image->job.heap_size - at)
            shmemi_fault(image, SHMEMI_FAULT_RANGE, call, pe, (uint64_t)(uintptr_t)address, length);
    }
}

SHMEMI_D uint64_t shmemi_offset(const struct shmemi_device_image *image, const void *address)
{
    return (uint64_t)(uintptr_t)address - image->job.segment;
}

/* The address of a PE for which the image has no room. */
SHMEMI_COLD uint64_t shmemi_direct_beyond(const struct shmemi_device_image *image, int pe)
{
    return (uint64_t)(uintptr_t)((const struct shmemi_device_peer *)image->job.peers)[pe].direct;
}

/*
 * The address of PE pe's copy of a symmetric address for loads and stores, or NULL. The image has
 * no addresses when every range is to be checked.
 */
SHMEMI_D char *shmemi_direct(const struct shmemi_device_image *image, const void *address, int pe)
{
    uint64_t base = (uint32_t)pe < SHMEMI_IMAGE_PES && image->job.checks <= 1
                        ? image->direct[pe]
                        : shmemi_direct_beyond(image, pe);
    return base == 0 ? NULL : (char *)(uintptr_t)(base + shmemi_offset(image, address));
}

/*
 * The same without checks and lookups, for a PE whose address the image has, as it has only for PEs
 * of the job. Returns 0 for other PEs. One branch decides. Each test or load that waits for the one
 * before costs a put with its quiet some 0.02 us (H200).
 */
SHMEMI_D int shmemi_plain(const struct shmemi_device_image *image, const void *address, int pe,
                          char **at)
{
    uint32_t place = (uint32_t)pe % SHMEMI_IMAGE_PES;
    uint64_t base = image->direct[place];
    *at = (char *)(uintptr_t)(base + shmemi_offset(image, address));
    return __builtin_expect((base != 0) & (place == (uint32_t)pe), 1);
}

/* Checks the arguments that every operation has, and finds the route. */
SHMEMI_COLD char *shmemi_reach_slowly(const struct shmemi_device_image *image, uint32_t call,
                                      const void *address, uint64_t length, int pe)
{
    shmemi_check_pe(image, call, pe, address, length);
    shmemi_check_range(image, call, pe, address, length);
    return shmemi_direct(image, address, pe);
}

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
 * The job with only one of its rings: all operations in it, of any thread, are in the order of
 * pushing, and a fence waits for no other ring. A number beyond the last ring is another number of
 * one of the rings.
 */
SHMEMI_D const struct shmemi_device_image *shmemi_queue(const struct shmemi_device_image *image,
                                                        uint32_t queue)
{
    const struct shmemi_device_image *queues =
        (const struct shmemi_device_image *)image->job.queues;
    return queues == NULL ? image : queues + queue % image->job.ring_count;
}

/*
 * Pushes an operation of this thread alone; other threads of its warp may join. Not inlined: with
 * six words and two more arguments, a kernel that puts would need more than the 64 registers that
 * each of 1024 threads has.
 */
SHMEMI_COLD void shmemi_hand_over(const struct shmemi_ring *r, const struct shmemi_words *words,
                                  int slots)
{
    shmemi_push_lanes(r, words, slots);
}

SHMEMI_D void shmemi_send(const struct shmemi_device_image *image, int pe,
                          const struct shmemi_words *words, int slots)
{
    shmemi_hand_over(shmemi_ring_for(&image->job, (uint32_t)pe), words, slots);
}

/* A reply place, claimed on the ring that the operation then goes to. */
struct shmemi_answer {
    const struct shmemi_ring *ring;
    uint32_t place, turn;
};

SHMEMI_D struct shmemi_answer shmemi_expect(const struct shmemi_device_image *image, int pe)
{
    struct shmemi_answer a;
    a.ring = shmemi_ring_for(&image->job, (uint32_t)pe);
    a.place = shmemi_reply_claim(a.ring, threadIdx.x);
    if (a.place == SHMEMI_NO_REPLY)
        shmemi_end();
    a.turn = shmemi_reply_turn(a.ring, a.place);
    return a;
}

/*
 * Waits for a reply. If the operation failed, or if the ring was stopped, the job ends and the host
 * reports the cause; the thread ends too.
 */
SHMEMI_D uint64_t shmemi_answered(const struct shmemi_answer *a)
{
    uint64_t value = 0;
    if (shmemi_reply_wait(a->ring, a->place, a->turn, &value) != 0)
        shmemi_end();
    return value;
}

/* Pushes the operation that was packed for the reply and waits for it. */
SHMEMI_D uint64_t shmemi_ask(const struct shmemi_answer *a, const struct shmemi_words *words,
                             int slots)
{
    shmemi_hand_over(a->ring, words, slots);
    return shmemi_answered(a);
}

/* Pushes an operation that may have a reply; place is 0 if it has none. */
SHMEMI_D struct shmemi_answer shmemi_expect_if(const struct shmemi_device_image *image, int pe,
                                               int wait)
{
    struct shmemi_answer none = {shmemi_ring_for(&image->job, (uint32_t)pe), 0, 0};
    return wait ? shmemi_expect(image, pe) : none;
}

SHMEMI_D void shmemi_ask_if(const struct shmemi_answer *a, const struct shmemi_words *words,
                            int slots, int wait)
{
    shmemi_hand_over(a->ring, words, slots);
    if (wait)
        shmemi_answered(a);
}

#endif

#endif
