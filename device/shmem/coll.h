/*
 * coll.h: broadcast, fcollect and alltoall of a team. The data goes straight
 * into dest, which is ready when the collective is called; a flag follows it.
 *
 * A kernel with one of these calls has registers for blocks of 1,024 threads. So the loops over PEs
 * that are inlined copy whole 16-byte words, or a few words of 4 bytes, to addresses and call
 * nothing; what a step sends by other means is in memory (struct shmemi_sending), and comes first,
 * while nothing else is in registers.
 *
 * A ring is a queue by which kernels pass operations to the PE's proxy on the host.
 */
#ifndef SHMEM_COLL_H
#define SHMEM_COLL_H

#include "sync.h"

#ifdef SHMEMI_KERNEL

/*
 * Before the messages of a step: synchronises the scope's threads, which have all read the number
 * of the step, and makes rings carry out these messages after those of the step before. One thread
 * orders the rings, between two syncs: after all threads have pushed the messages before, and
 * before any pushes the next.
 */
template <class SCOPE>
SHMEMI_D void shmemi_step_sync_and_order(const struct shmemi_device_image *image)
{
    SCOPE::sync();
    if (image->job.ring_count != 0) {
        if (SCOPE::rank() == 0)
            shmemi_order_rings(image);
        SCOPE::sync();
    }
}

/*
 * Begins a step of a collective and returns its number. counter has the number of the step before
 * until shmemi_step_end changes it; so the scope's threads synchronise here, after all have read
 * it. The proxy carries out messages that come from here on after those of the step before.
 */
template <class SCOPE>
SHMEMI_D uint64_t shmemi_step_begin(const struct shmemi_device_image *image,
                                    const uint64_t *counter)
{
    uint64_t step = shmemi_load_near(counter) + 1;
    shmemi_step_sync_and_order<SCOPE>(image);
    return step;
}

/*
 * Stores the step in a flag of each PE whose memory this GPU can address, this PE included, once
 * all threads of the scope have stored their blocks. flag is its address in this PE's heap. A
 * thread that signals several PEs makes one fence for all of them: a release for each would wait
 * for the flags before it, too, and each wait is a round trip to another GPU.
 */
template <class SCOPE>
SHMEMI_D void shmemi_signal_all(const struct shmemi_device_image *image,
                                const struct shmemi_members *m, uint64_t *flag, uint64_t step)
{
    SCOPE::sync();
    if ((int)SCOPE::rank() < m->n)
        shmemi_fence_system();
#pragma unroll 1
    for (int i = (int)SCOPE::rank(); i < m->n; i += (int)SCOPE::size()) {
        int pe = shmemi_pe_of(m, shmemi_rank_after(m->me, 1 + i, m->n));
        char *at = shmemi_direct(image, flag, pe);
        if (at != NULL)
            shmemi_store_element(at, step);
    }
}

/* Waits until each PE of the team, this one included, has set its flag at this PE to this step, or
 * to a later one. flags has one flag for each rank. The threads of the scope divide the flags, and
 * the caller synchronises them afterwards. */
template <class SCOPE>
SHMEMI_D void shmemi_await_all(const struct shmemi_device_image *image,
                               const struct shmemi_members *m, const uint64_t *flags, uint64_t step)
{
#pragma unroll 1
    for (int i = (int)SCOPE::rank(); i < m->n; i += (int)SCOPE::size())
        shmemi_await(image, m, flags + i, step);
}

/* Ends a step of a collective: stores its number in the counter, from which the next step computes
 * its number. The last sync keeps a fast thread from reading the counter before it is stored. */
template <class SCOPE> SHMEMI_D void shmemi_step_end(uint64_t *counter, uint64_t step)
{
    if (SCOPE::rank() == 0)
        shmemi_store_near(counter, step);
    SCOPE::sync();
}

/* The most words of 4 bytes that a thread copies to a PE. */
#define SHMEMI_FEW_WORDS 16

/* Reports whether a block to send is a few words of 4 bytes, aligned on both sides: shmemi_send_few
 * then copies it by one thread for each PE. */
SHMEMI_D int shmemi_few_words(const void *dest, const void *source, uint64_t bytes)
{
    return bytes <= 4 * SHMEMI_FEW_WORDS &&
           (((uint32_t)(uintptr_t)dest | (uint32_t)(uintptr_t)source | (uint32_t)bytes) & 3) == 0;
}

/* Reports whether the blocks of a step are ragged: neither whole 16-byte words nor a few words of 4
 * bytes, so that the copies need slower functions. */
SHMEMI_D int shmemi_ragged(const void *dest, const void *source, uint64_t bytes)
{
    return __builtin_expect(
        shmemi_not_wide(dest, source, bytes) != 0 && !shmemi_few_words(dest, source, bytes), 0);
}

/*
 * Sends a few words of 4 bytes to the PEs whose memory this GPU can address, as shmemi_send_wide
 * does with words of 16 bytes. One thread copies all words of a PE. shmemi_send_ragged could copy
 * them, too, but it calls functions that are not inlined, with arguments in memory: an alltoall of
 * single elements on two H200 took 5.2 us that way, and one of blocks of 16 bytes takes 3.2 us.
 * BLOCKS and SELF are those of shmemi_send_wide.
 */
template <class SCOPE, int BLOCKS, int SELF>
SHMEMI_D void shmemi_send_few(const struct shmemi_device_image *image,
                              const struct shmemi_members *m, char *dest, const char *source,
                              uint32_t bytes)
{
#pragma unroll 1
    for (int i = 1 + (int)SCOPE::rank(); i < m->n + SELF; i += (int)SCOPE::size()) {
        int rank = shmemi_rank_after(m->me, i, m->n);
        const char *from = source + (BLOCKS ? (uint32_t)rank * (uint64_t)bytes : 0);
        char *to = shmemi_direct(image, dest, shmemi_pe_of(m, rank));
        if (to != NULL && to != from)
            shmemi_copy_units<uint32_t, 0 /* FAR */, 4>(shmemi_side_by_side<uint32_t>(), to, from,
                                                        0u /* first */, bytes / 4, 1u);
    }
}

/*
 * Sends whole 16-byte words to the PEs whose memory this GPU can address. It begins with the PE
 * after this one, so that not all send to the same PE first, and ends with this PE itself, unless
 * SELF is 0. BLOCKS: the PEs get consecutive blocks of source, else all get the same. A copy within
 * this PE may have its source as destination; then nothing is copied.
 */
template <class SCOPE, int BLOCKS, int SELF>
SHMEMI_D void shmemi_send_wide(const struct shmemi_device_image *image,
                               const struct shmemi_members *m, char *dest, const char *source,
                               uint64_t bytes)
{
#pragma unroll 1
    for (int i = 1; i < m->n + SELF; i++) {
        int rank = shmemi_rank_after(m->me, i, m->n);
        const char *from = source + (BLOCKS ? (uint64_t)rank * bytes : 0);
        char *to = shmemi_direct(image, dest, shmemi_pe_of(m, rank));
        if (to != NULL && to != from)
            shmemi_copy_wide<SCOPE, 0 /* FAR */>(to, from, (uint32_t)(bytes / 16));
    }
}

/* Copies this PE's blocks to the PEs whose memory this GPU can address, if the blocks are not
 * ragged: by words of 16 bytes, or by the few words of 4 bytes that they have. */
template <class SCOPE, int BLOCKS, int SELF>
SHMEMI_D void shmemi_send_direct(const struct shmemi_device_image *image,
                                 const struct shmemi_members *m, char *dest, const char *source,
                                 uint64_t bytes)
{
    if (shmemi_not_wide(dest, source, bytes) == 0)
        shmemi_send_wide<SCOPE, BLOCKS, SELF>(image, m, dest, source, bytes);
    else
        shmemi_send_few<SCOPE, BLOCKS, SELF>(image, m, dest, source, (uint32_t)bytes);
}

/*
 * One step of a collective: a put with a signal to each other member, one after the other. It is in
 * memory, since functions that push to a ring take nearly all registers of a thread in a block of
 * 1,024.
 */
struct shmemi_sending {
    struct shmemi_put_call c;              /* to the present PE; the push changes it */
    const struct shmemi_device_team *team; /* its entry in the table; NULL: the world */
    const char *source;                    /* the first block */
    uint64_t dest, bytes;                  /* offset of dest in each PE's segment; of a block */
    int n, me;                             /* number of PEs of the team, and this PE's rank */
};

/* Fills in what one step of a collective sends: to dest at each PE, `bytes` bytes of source, and
 * after them to the PE's flag the step's number. dest and flag are addresses in this PE's heap.
 * shmemi_sending_next sets the PE. */
SHMEMI_D void shmemi_sending_begin(struct shmemi_sending *s,
                                   const struct shmemi_device_image *image,
                                   const struct shmemi_members *m, const uint64_t *flag,
                                   uint64_t step, const char *dest, const char *source,
                                   uint64_t bytes)
{
    s->c.image = image;
    s->c.signal_at = shmemi_offset(image, flag);
    s->c.value = step;
    s->c.kind = SHMEMI_KIND_SET;
    s->team = m->entry;
    s->source = source;
    s->dest = shmemi_offset(image, dest);
    s->bytes = bytes;
    s->n = m->n;
    s->me = m->me;
}

/* Returns the address for loads and stores of dest at the PE to which the step sends now (c.pe), or
 * NULL if this GPU cannot address that PE's memory. */
SHMEMI_D char *shmemi_sending_to(const struct shmemi_sending *s)
{
    const struct shmemi_device_image *image = s->c.image;
    return shmemi_direct(image, (char *)(uintptr_t)(image->job.segment + s->dest), s->c.pe);
}

/* Goes on to the PE whose rank is i after this one's, and sets what is sent to it. With BLOCKS each
 * PE gets another block of source. Returns the address of dest at that PE, or NULL if this GPU
 * cannot address the PE's memory. */
template <int BLOCKS> SHMEMI_COLD char *shmemi_sending_next(struct shmemi_sending *s, int i)
{
    int rank = shmemi_rank_after(s->me, i, s->n);
    s->c.source = s->source + (BLOCKS ? (uint64_t)rank * s->bytes : 0);
    s->c.dest = s->dest;
    s->c.bytes = s->bytes;
    s->c.pe = shmemi_pe_at(s->team, rank);
    return shmemi_sending_to(s);
}

/* Copies the bytes at both ends of a block that are outside of its aligned middle to the PE to
 * which the step sends now. The caller finds the middle again, so the result is dropped. */
template <class SCOPE> SHMEMI_COLD void shmemi_send_ends(const struct shmemi_sending *s)
{
    (void)shmemi_copy_ends<0 /* FAR */>(shmemi_sending_to(s), s->c.source, s->bytes, SCOPE::rank(),
                                        SCOPE::size());
}

/*
 * Copies the aligned middle of a block to the PE to which the step sends now, by words of less than
 * 16 bytes.
 */
template <class SCOPE> SHMEMI_COLD void shmemi_send_narrow(const struct shmemi_sending *s)
{
    char *to = shmemi_sending_to(s);
    struct shmemi_middle m = shmemi_middle_of(to, s->c.source, s->bytes);
    shmemi_copy_by<0 /* FAR */>(m.width, to + m.head, s->c.source + m.head, m.bytes, SCOPE::rank(),
                                SCOPE::size());
}

/* Copies a ragged block (neither whole 16-byte words nor a few 4-byte words, shmemi_ragged) to a PE
 * whose memory this GPU can address. It does what shmemi_copy does, but has its arguments in memory
 * (*s), so that the kernel needs fewer registers. */
template <class SCOPE> SHMEMI_D void shmemi_send_ragged(const struct shmemi_sending *s, char *to)
{
    shmemi_send_ends<SCOPE>(s);
    struct shmemi_middle m = shmemi_middle_of(to, s->c.source, s->bytes);
    if (shmemi_is_wide(&m))
        shmemi_copy_wide<SCOPE, 0 /* FAR */>(to + m.head, s->c.source + m.head,
                                             (uint32_t)(m.bytes / 16));
    else if (m.bytes != 0)
        shmemi_send_narrow<SCOPE>(s);
}

/*
 * Sends a step's block to the PE whose rank is i after this one's: through the ring, with the flag
 * after it, or by a copy if this GPU can address the PE's memory and the block is ragged. Other
 * blocks for such PEs are copied later by shmemi_send_direct. The put waits until its source may be
 * used again, because the program may change it after the collective. Of 0 bytes only the flag is
 * sent.
 */
template <class SCOPE, int BLOCKS>
SHMEMI_D void shmemi_send_one(struct shmemi_sending *s, int i, int ragged)
{
    char *to = shmemi_sending_next<BLOCKS>(s, i);
    if (to != NULL) {
        if (ragged && to != s->c.source)
            shmemi_send_ragged<SCOPE>(s, to);
    } else if (SCOPE::rank() == 0) {
        if (s->bytes != 0)
            shmemi_send_put_signal<0 /* NBI */>(&s->c);
        else
            shmemi_send_atom(s->c.image, s->c.kind, s->c.signal_at, 8 /* bytes */, s->c.value,
                             s->c.pe);
    }
}

/* Sends a block to each PE of the team, and sets a flag of that PE to the step after it. With
 * BLOCKS each PE gets another block of source; with SELF this PE gets its own, too. */
template <class SCOPE, int BLOCKS, int SELF>
SHMEMI_COLD void shmemi_send_all(const struct shmemi_device_image *image,
                                 const struct shmemi_members *m, char *dest, const char *source,
                                 uint64_t bytes, uint64_t *flag, uint64_t step)
{
    int ragged = shmemi_ragged(dest, source, bytes);
    if (image->job.ring_count != 0 || ragged) {
        struct shmemi_sending s;
        shmemi_sending_begin(&s, image, m, flag, step, dest, source, bytes);
#pragma unroll 1
        for (int i = 1; i < m->n + SELF; i++)
            shmemi_send_one<SCOPE, BLOCKS>(&s, i, ragged);
    }
    if (!ragged)
        shmemi_send_direct<SCOPE, BLOCKS, SELF>(image, m, dest, source, bytes);
    shmemi_signal_all<SCOPE>(image, m, flag, step);
}

/*
 * Opens the team of a collective and checks its arguments. ROOTED: only the PE of rank root sends,
 * as in a broadcast; else root is not used, and dest has a block of each PE. Returns 0, or -1 for
 * SHMEM_TEAM_INVALID.
 */
template <int ROOTED>
SHMEMI_D int shmemi_collective_open(const struct shmemi_device_image *image, uint32_t call,
                                    shmemi_team_t team, const void *dest, uint64_t bytes, int root,
                                    struct shmemi_members *m)
{
    if (shmemi_team_open(image, call, team, m) != 0)
        return -1;
    if (ROOTED && (uint32_t)root >= (uint32_t)m->n)
        shmemi_fault(image, SHMEMI_FAULT_ROOT, call, root, (uint64_t)(uintptr_t)dest,
                     (uint64_t)m->n);
    shmemi_check_range(image, call, image->job.me, dest, ROOTED ? bytes : bytes * (uint64_t)m->n);
    return 0;
}

/* Opens the team of a collective, checks the arguments, and fills in what this PE sends: without a
 * root to its own block of each PE's dest. Returns the number of PEs that it sends to, itself
 * included, 0 for a PE that only receives, or -1 for SHMEM_TEAM_INVALID. */
template <int ROOTED>
SHMEMI_COLD int shmemi_collective_begin(struct shmemi_sending *s,
                                        const struct shmemi_device_image *image, uint32_t call,
                                        shmemi_team_t team, const char *dest, const char *source,
                                        uint64_t bytes, int root)
{
    struct shmemi_members m;
    if (shmemi_collective_open<ROOTED>(image, call, team, dest, bytes, root, &m) != 0)
        return -1;
    uint64_t step = shmemi_load_near(m.work.step) + 1;
    shmemi_sending_begin(s, image, &m, m.work.arrived + (ROOTED ? root : m.me), step,
                         dest + (ROOTED ? 0 : (uint64_t)m.me * bytes), source, bytes);
    return ROOTED && m.me != root ? 0 : m.n;
}

/*
 * Does the first part of a collective: sends all that goes through rings, and all copies of ragged
 * data. Returns -1 for SHMEM_TEAM_INVALID, else 0. The caller opens the team once more afterwards,
 * so that it keeps nothing in registers meanwhile. Inlined: a kernel may use 16 registers more
 * across a call than a function, which has to save them.
 */
template <class SCOPE, int BLOCKS, int ROOTED>
SHMEMI_D int shmemi_collective_first(const struct shmemi_device_image *image, uint32_t call,
                                     shmemi_team_t team, void *dest, const void *source,
                                     uint64_t bytes, int root)
{
    struct shmemi_sending s;
    int count = shmemi_collective_begin<ROOTED>(&s, image, call, team, (char *)dest,
                                                (const char *)source, bytes, root);
    if (count < 0)
        return -1;
    shmemi_step_sync_and_order<SCOPE>(image);
#pragma unroll 1
    for (int i = 1; i <= count; i++)
        shmemi_send_one<SCOPE, BLOCKS>(&s, i, shmemi_ragged(dest, source, bytes));
    return 0;
}

/*
 * Does the last part of a collective: signals the PEs whose memory this GPU can address, waits for
 * those that send to this PE, and ends the step. Between the load of the counter and the end, which
 * changes it, the threads synchronise: in shmemi_signal_all, or where this PE only receives by the
 * sync before the wait of the first thread.
 */
template <class SCOPE, int ROOTED>
SHMEMI_D void shmemi_collective_end(const struct shmemi_device_image *image,
                                    const struct shmemi_members *m, int root)
{
    uint64_t step = shmemi_load_near(m->work.step) + 1;
    if (!ROOTED) {
        shmemi_signal_all<SCOPE>(image, m, m->work.arrived + m->me, step);
        shmemi_await_all<SCOPE>(image, m, m->work.arrived, step);
    } else if (m->me == root) {
        shmemi_signal_all<SCOPE>(image, m, m->work.arrived + root, step);
    } else {
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_await(image, m, m->work.arrived + root, step);
    }
    shmemi_step_end<SCOPE>(m->work.step, step);
}

/*
 * Does a broadcast (ROOTED), an alltoall (BLOCKS) or an fcollect. bytes is the size of one block.
 * Returns 0, or -1 for SHMEM_TEAM_INVALID.
 */
template <class SCOPE, int BLOCKS, int ROOTED>
SHMEMI_D int shmemi_collective(const struct shmemi_device_image *image, uint32_t call,
                               shmemi_team_t team, void *dest, const void *source, uint64_t bytes,
                               int root)
{
    int ragged = shmemi_ragged(dest, source, bytes);
    SCOPE::sync(); /* any of the threads may have written any part of source */
    if (image->job.ring_count != 0 || ragged)
        if (shmemi_collective_first<shmemi_fewer<SCOPE>, BLOCKS, ROOTED>(image, call, team, dest,
                                                                         source, bytes, root) != 0)
            return -1;
    struct shmemi_members m;
    if (shmemi_collective_open<ROOTED>(image, call, team, dest, bytes, root, &m) != 0)
        return -1;
    if (!ragged && (!ROOTED || m.me == root))
        shmemi_send_direct<shmemi_fewer<SCOPE>, BLOCKS, 1 /* SELF */>(
            image, &m, (char *)dest + (ROOTED ? 0 : (uint64_t)m.me * bytes), (const char *)source,
            bytes);
    shmemi_collective_end<SCOPE, ROOTED>(image, &m, root);
    return 0;
}

/* Does a broadcast by the threads of a scope: the PE of rank root sends `bytes` bytes to dest of
 * all PEs of the team, its own included. Returns 0, or -1 for SHMEM_TEAM_INVALID. */
template <class SCOPE>
SHMEMI_D int shmemi_broadcast(const struct shmemi_device_image *image, uint32_t call,
                              shmemi_team_t team, void *dest, const void *source, uint64_t bytes,
                              int root)
{
    return shmemi_collective<SCOPE, 0 /* BLOCKS */, 1 /* ROOTED */>(image, call, team, dest, source,
                                                                    bytes, root);
}

/* Does an alltoall (BLOCKS) or an fcollect, by the threads of a scope. Returns 0, or -1 for
 * SHMEM_TEAM_INVALID. */
template <class SCOPE, int BLOCKS>
SHMEMI_D int shmemi_exchange(const struct shmemi_device_image *image, uint32_t call,
                             shmemi_team_t team, void *dest, const void *source, uint64_t bytes)
{
    return shmemi_collective<SCOPE, BLOCKS, 0 /* ROOTED */>(image, call, team, dest, source, bytes,
                                                            0 /* root */);
}

#endif

#endif
