/*
 * kernels.cu: the library's own kernels, which the host launches on a stream of the program for a
 * call of shmemx.h. Built into libshmem_kernels.fatbin; the host finds each by its name. The host
 * has checked the arguments, so that results which only tell of wrong ones are dropped. NBI, in
 * <shmemi_by_block, NBI>: a put does not wait until its source may be used again, nor a get for its
 * bytes.
 */
#define SHMEMI_READS_SOURCE 0

#include "bounce.h"
#include "reduce.h"
#include "zz_kernels.h"

#include <shmem/coll.h>
#include <shmem/notify.h>

typedef const struct shmemi_stream_call call_t;

/*
 * Each kernel below must have a row in abi/table, or its static_assert does not compile. Nor does
 * the end of the file if a row has no kernel.
 */
#define IS_IN_THE_TABLE(name) KERNEL_##name,
enum { SHMEMI_STREAM_KERNELS(IS_IN_THE_TABLE) };

#define KERNEL(name)                                                                               \
    static_assert(KERNEL_##name >= 0, "");                                                         \
    extern "C" __global__ void __launch_bounds__(SHMEMI_THREADS)                                   \
        shmemi_stream_##name(__grid_constant__ call_t c)

/* Returns a pointer for an address in the arguments of a call, where addresses are numbers. */
SHMEMI_D void *address(uint64_t at)
{
    return (void *)(uintptr_t)at;
}

/* ------------------------------------------------- one PE with another */

/*
 * Puts bytes to a PE, for a call on a stream, by one block. After a blocking put the bytes are at
 * the PE, also if the network carries them: programs synchronise the stream, then the processes, by
 * a call that is none of this library's, and read the bytes (torch's nvshmem_put is used so).
 */
KERNEL(put)
{
    if (c.nbi) {
        shmemi_put<shmemi_by_block, 1>(&shmemi_job, c.call, address(c.dest), address(c.source),
                                       c.count, c.pe);
        return;
    }
    shmemi_put<shmemi_by_block, 0>(&shmemi_job, c.call, address(c.dest), address(c.source), c.count,
                                   c.pe);
    shmemi_complete_put(&c);
}

/* Gets bytes from a PE, for a call on a stream, by one block. */
KERNEL(get)
{
    if (c.nbi)
        shmemi_get<shmemi_by_block, 1>(&shmemi_job, c.call, address(c.dest), address(c.source),
                                       c.count, c.pe);
    else
        shmemi_get<shmemi_by_block, 0>(&shmemi_job, c.call, address(c.dest), address(c.source),
                                       c.count, c.pe);
}

/* Puts bytes to a PE and then sets or adds to a signal there, for a call on a stream, by one block.
 */
KERNEL(put_signal)
{
    uint64_t *signal = (uint64_t *)address(c.signal);
    if (c.nbi)
        shmemi_put_signal<shmemi_by_block, 1>(&shmemi_job, c.call, address(c.dest),
                                              address(c.source), c.count, signal, c.value, c.op,
                                              c.pe);
    else
        shmemi_put_signal<shmemi_by_block, 0>(&shmemi_job, c.call, address(c.dest),
                                              address(c.source), c.count, signal, c.value, c.op,
                                              c.pe);
}

/*
 * Puts bytes to a PE, which counts the put in notification counter c.op, by one block. The fence
 * makes earlier work of the stream, such as the copy before a notification alone, visible to a PE
 * that sees the notification.
 */
KERNEL(put_notify)
{
    shmemi_fence_system();
    if (c.nbi)
        shmemi_put_notify<shmemi_by_block, 1>(&shmemi_job, c.call, address(c.dest),
                                              address(c.source), c.count, c.op, c.pe);
    else
        shmemi_put_notify<shmemi_by_block, 0>(&shmemi_job, c.call, address(c.dest),
                                              address(c.source), c.count, c.op, c.pe);
}

/* Puts bytes through bounce buffers, from memory that the proxies cannot read because the driver
 * ties it to its context (bounce.h). */
KERNEL(put_bounced)
{
    shmemi_bounce<SHMEMI_BOUNCED_PUT>(&c);
}

/* Gets bytes through bounce buffers, into memory that the proxies cannot write because the driver
 * ties it to its context (bounce.h). */
KERNEL(get_bounced)
{
    shmemi_bounce<SHMEMI_BOUNCED_GET>(&c);
}

/* Does put_signal through bounce buffers, for memory that the proxies cannot read (bounce.h). */
KERNEL(put_signal_bounced)
{
    shmemi_bounce<SHMEMI_BOUNCED_PUT_SIGNAL>(&c);
}

/* Does put_notify through bounce buffers, for memory that the proxies cannot read (bounce.h). */
KERNEL(put_notify_bounced)
{
    shmemi_bounce<SHMEMI_BOUNCED_PUT_NOTIFY>(&c);
}

/* Puts one element, c.value, of c.width bytes, by one thread. */
KERNEL(p)
{
    void *dest = address(c.dest);
    switch (c.width) {
    case 1:
        shmemi_p<uint8_t>(&shmemi_job, c.call, (uint8_t *)dest, (uint8_t)c.value, c.pe);
        break;
    case 2:
        shmemi_p<uint16_t>(&shmemi_job, c.call, (uint16_t *)dest, (uint16_t)c.value, c.pe);
        break;
    case 4:
        shmemi_p<uint32_t>(&shmemi_job, c.call, (uint32_t *)dest, (uint32_t)c.value, c.pe);
        break;
    default: /* 8 */
        shmemi_p<uint64_t>(&shmemi_job, c.call, (uint64_t *)dest, c.value, c.pe);
    }
}

/* Sets a signal of a PE or adds to it, by one thread. The fence makes earlier work of the stream
 * visible to a reader that sees the signal. */
KERNEL(signal)
{
    shmemi_fence_system();
    shmemi_signal(&shmemi_job, c.call, (uint64_t *)address(c.signal), c.value, c.op, c.pe);
}

/* --------------------------------------------------------------- waiting */

/*
 * Does this thread's part of a wait for the c->count words at c->dest: it waits for words i, i +
 * threads, ... except those whose entry in the array at c->signal (if there is one) is not 0. Each
 * word is compared with its entry in the array at c->source or, without that array, with c->value.
 */
template <class T> SHMEMI_D void wait_words(call_t *c)
{
    const T *words = (const T *)address(c->dest), *values = (const T *)address(c->source);
    const int *skip = (const int *)address(c->signal);
    for (uint64_t i = threadIdx.x; i < c->count; i += blockDim.x)
        if (skip == NULL || skip[i] == 0)
            (void)shmemi_wait<T>(&shmemi_job, c->call, words + i, c->op,
                                 values != NULL ? values[i] : (T)c->value);
}

/* Makes a stream wait for one word or several. c.width is the bytes of a word, with SHMEMI_SIGNED
 * for signed ones. */
KERNEL(wait)
{
    switch (c.width) {
    case 2:
        wait_words<uint16_t>(&c);
        break;
    case 2 | SHMEMI_SIGNED:
        wait_words<int16_t>(&c);
        break;
    case 4:
        wait_words<uint32_t>(&c);
        break;
    case 4 | SHMEMI_SIGNED:
        wait_words<int32_t>(&c);
        break;
    case 8:
        wait_words<uint64_t>(&c);
        break;
    default: /* 8 | SHMEMI_SIGNED */
        wait_words<int64_t>(&c);
    }
}

/* Makes a stream wait until notification counter c.op of this PE has reached c.value, by one
 * thread. */
KERNEL(notify_wait)
{
    (void)shmemi_notify_wait(&shmemi_job, c.call, c.op, c.value);
}

/* Sets notification counter c.op of this PE to c.value, by one thread. */
KERNEL(notify_reset)
{
    shmemi_notify_reset(&shmemi_job, c.call, c.op, c.value);
}

/*
 * Waits until the operations are complete that kernels of NVIDIA's device archive have submitted to
 * the proxy channel: c.dest is where they count the bytes of their requests, c.source the position
 * up to which quiets wait, which other kernels may raise at the same time, and c.signal that up to
 * which all is complete. c.dest 0: the job has no channel. All threads of the block call it, and
 * one waits.
 */
SHMEMI_D void quiet_channel(call_t &c)
{
    if (c.dest != 0 && threadIdx.x == 0) {
        uint32_t polls = 0;
        const uint64_t issue = shmemi_load_near((const uint64_t *)address(c.dest));
        atomicMax((unsigned long long *)address(c.source), (unsigned long long)issue);
        while (shmemi_load_far((const uint64_t *)address(c.signal)) < issue)
            shmemi_keep_waiting(&shmemi_job, &polls);
    }
    __syncthreads();
}

/* Waits for the completion of the PE's earlier operations, for a quiet on a stream, by one thread.
 */
KERNEL(quiet)
{
    quiet_channel(c);
    shmemi_quiet(&shmemi_job, c.call);
}

/* ------------------------------------------------ all PEs of a team */

/* Waits until all PEs of a team have called, for a sync on a stream. */
KERNEL(sync)
{
    (void)shmemi_sync<shmemi_by_block, 0 /* COMPLETE */>(&shmemi_job, c.call, c.team);
}

/* Waits until all PEs of a team have called and their earlier operations are complete, for a
 * barrier on a stream. */
KERNEL(barrier)
{
    quiet_channel(c);
    (void)shmemi_sync<shmemi_by_block, 1 /* COMPLETE */>(&shmemi_job, c.call, c.team);
}

/*
 * Sends the bytes of the root, whose rank in the team is c.pe, to all PEs of the team: by one block
 * over any path, or, if the host has chosen SPREAD, by many blocks to PEs that all have an address
 * here.
 */
KERNEL(broadcast)
{
    struct shmemi_members m;
    if (c.algorithm != SHMEMI_ALGORITHM_SPREAD) {
        (void)shmemi_broadcast<shmemi_by_block>(&shmemi_job, c.call, c.team, address(c.dest),
                                                address(c.source), c.count, c.pe);
        return;
    }
    if (shmemi_team_open(&shmemi_job, c.call, c.team, &m) != 0)
        return;
    if (m.me == c.pe)
        shmemi_copy_to_all<0 /* BLOCKS */>(&m, (char *)address(c.dest),
                                           (const char *)address(c.source), c.count);
    shmemi_sync_last_block(&m);
}

/* Does an alltoall (BLOCKS) or an fcollect, by one block over any path or, if the host has chosen
 * SPREAD, by many blocks to PEs that all have an address here. */
template <int BLOCKS> SHMEMI_D void exchange(call_t *c)
{
    struct shmemi_members m;
    if (c->algorithm != SHMEMI_ALGORITHM_SPREAD) {
        (void)shmemi_exchange<shmemi_by_block, BLOCKS>(
            &shmemi_job, c->call, c->team, address(c->dest), address(c->source), c->count);
        return;
    }
    if (shmemi_team_open(&shmemi_job, c->call, c->team, &m) != 0)
        return;
    shmemi_copy_to_all<BLOCKS>(&m, (char *)address(c->dest) + (uint64_t)m.me * c->count,
                               (const char *)address(c->source), c->count);
    shmemi_sync_last_block(&m);
}

/* Sends this PE's block to all PEs of a team, for an fcollect on a stream. */
KERNEL(fcollect)
{
    exchange<0 /* BLOCKS */>(&c);
}

/* Sends each PE of a team its block, for an alltoall on a stream. */
KERNEL(alltoall)
{
    exchange<1 /* BLOCKS */>(&c);
}

/* ------------------------------------------------------------ reductions */

/*
 * Chooses the type of the elements by c->width, for sums and products of integers, which do not
 * depend on the sign, and for minima and maxima of unsigned integers.
 */
template <class ALGORITHM, class OP> SHMEMI_D void reduce_integers(call_t *c)
{
    switch (c->width & ~(uint32_t)SHMEMI_SIGNED) {
    case 1:
        return ALGORITHM::template reduce<shmemi_each<OP, uint8_t>, uint8_t>(c);
    case 2:
        return ALGORITHM::template reduce<shmemi_each<OP, uint16_t>, uint16_t>(c);
    case 4:
        return ALGORITHM::template reduce<shmemi_each<OP, uint32_t>, uint32_t>(c);
    case 8:
        return ALGORITHM::template reduce<shmemi_each<OP, uint64_t>, uint64_t>(c);
    }
}

/* Chooses the type of the elements by c->width, for operations that depend on the sign: signed
 * integers. */
template <class ALGORITHM, class OP> SHMEMI_D void reduce_signed(call_t *c)
{
    switch (c->width) {
    case 1 | SHMEMI_SIGNED:
        return ALGORITHM::template reduce<shmemi_each<OP, int8_t>, int8_t>(c);
    case 2 | SHMEMI_SIGNED:
        return ALGORITHM::template reduce<shmemi_each<OP, int16_t>, int16_t>(c);
    case 4 | SHMEMI_SIGNED:
        return ALGORITHM::template reduce<shmemi_each<OP, int32_t>, int32_t>(c);
    case 8 | SHMEMI_SIGNED:
        return ALGORITHM::template reduce<shmemi_each<OP, int64_t>, int64_t>(c);
    }
}

/* Chooses the type of the elements of a reduction of floating-point numbers by c->width. 16-bit
 * ones are combined as float. */
template <class ALGORITHM, class OP> SHMEMI_D void reduce_real(call_t *c)
{
    switch (c->width) {
    case SHMEMI_F16:
        return ALGORITHM::template reduce<shmemi_each_narrow<OP, shmemi_f16>, shmemi_f16>(c);
    case SHMEMI_BF16:
        return ALGORITHM::template reduce<shmemi_each_narrow<OP, shmemi_bf16>, shmemi_bf16>(c);
    case SHMEMI_F32:
        return ALGORITHM::template reduce<shmemi_each<OP, float>, float>(c);
    case SHMEMI_F64:
        return ALGORITHM::template reduce<shmemi_each<OP, double>, double>(c);
    }
}

/* Does a reduction to a sum or product of numbers: chooses the function for the type of the
 * elements. */
template <class ALGORITHM, class OP> SHMEMI_D void reduce_numbers(call_t *c)
{
    if (c->width & SHMEMI_REAL)
        reduce_real<ALGORITHM, OP>(c);
    else
        reduce_integers<ALGORITHM, OP>(c);
}

/* Does a reduction to a minimum or maximum of numbers: chooses the function for the type of the
 * elements. */
template <class ALGORITHM, class OP> SHMEMI_D void reduce_ordered(call_t *c)
{
    if (c->width & SHMEMI_SIGNED)
        reduce_signed<ALGORITHM, OP>(c);
    else
        reduce_numbers<ALGORITHM, OP>(c);
}

/*
 * Carries out a reduction by an algorithm of reduce.h, for the operation op (SHMEMI_REDUCE_...) and
 * the type of elements in c. Bit operations do not depend on the type: they combine bytes, and for
 * them the host stores the number of bytes in c.
 */
template <class ALGORITHM> SHMEMI_D void reduce(call_t *c, uint32_t op)
{
    switch (op) {
    case SHMEMI_REDUCE_SUM:
        return reduce_numbers<ALGORITHM, shmemi_sum>(c);
    case SHMEMI_REDUCE_PROD:
        return reduce_numbers<ALGORITHM, shmemi_prod>(c);
    case SHMEMI_REDUCE_MIN:
        return reduce_ordered<ALGORITHM, shmemi_min>(c);
    case SHMEMI_REDUCE_MAX:
        return reduce_ordered<ALGORITHM, shmemi_max>(c);
    case SHMEMI_REDUCE_AND:
        return ALGORITHM::template reduce<shmemi_each_bit<shmemi_and>, uint8_t>(c);
    case SHMEMI_REDUCE_OR:
        return ALGORITHM::template reduce<shmemi_each_bit<shmemi_or>, uint8_t>(c);
    case SHMEMI_REDUCE_XOR:
        return ALGORITHM::template reduce<shmemi_each_bit<shmemi_xor>, uint8_t>(c);
    }
}

/* Combines the sources of all PEs of a team into dest of each of them, by one block over any path.
 * c.op selects the operation. */
KERNEL(reduce)
{
    reduce<shmemi_any>(&c, (uint32_t)c.op);
}

/* Combines the sources of all PEs of a team, of which each gets another part of the result, by one
 * block over any path. c.op selects the operation. */
KERNEL(reducescatter)
{
    reduce<shmemi_parts>(&c, (uint32_t)c.op);
}

/*
 * The algorithms packed and spread (reduce.h) have a kernel for each operation. One kernel for all
 * operations would take the assembler four times as long; one for each type would hold the shared
 * code 100 times.
 */
#define REDUCE(name, op)                                                                           \
    KERNEL(packed_##name)                                                                          \
    {                                                                                              \
        reduce<shmemi_packed>(&c, op);                                                             \
    }                                                                                              \
    KERNEL(spread_##name)                                                                          \
    {                                                                                              \
        reduce<shmemi_spread>(&c, op);                                                             \
    }

SHMEMI_REDUCTIONS(REDUCE)

#define IS_DEFINED(name) static_assert(sizeof &shmemi_stream_##name > 0, "");
SHMEMI_STREAM_KERNELS(IS_DEFINED)
