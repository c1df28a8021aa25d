// Puts with notifications of a GPU thread to a peer whose memory has an address here, and waits for
// its own counters.
#include <shmem/shmem.cuh>

// PTX let FENCE = fence | membar
// PTX let SYSTEM_FENCE = fence.acq_rel.sys
// PTX let COUNT = red.release.sys.global.add.u64
// PTX let SET = st.release.sys.global.u64
// PTX let LOOK = ld.acquire.sys.global.u64
// PTX let BULK = st.v2.u64
// PTX let RAGGED = call.shmemi_copy_ends | call.shmemi_copy_by
// PTX let RING = call.shmemi_put_method
// PTX let BARRIER = bar.sync | barrier.sync

#define DIRECT()                                                                                   \
    do {                                                                                           \
        __builtin_assume(shmemi_here.job.checks == 0);                                             \
        __builtin_assume(shmemi_here.job.ring_count == 0);                                         \
    } while (0)

// The addition is one release behind the data, of the whole system's scope. By the ring there is
// none: the proxy adds.
// PTX: one COUNT
// PTX: some BULK
// PTX: one RING
// PTX: none FENCE | st.release | st.relaxed | atom
// PTX: none BULK | RAGGED from COUNT
// PTX: none COUNT from RING
// PTX: none RING from COUNT
extern "C" __global__ void put_notify(char *dest, const char *source, size_t n)
{
    DIRECT();
    __builtin_assume(n != 0);
    shmemx_putmem_notify(dest, source, n, 3, 1);
}

// In a block, after all threads have met behind their stores.
// PTX: one COUNT
// PTX: some BULK
// PTX: every COUNT after BARRIER
// PTX: none BULK | RAGGED from BARRIER
// PTX: none COUNT from BULK without BARRIER
// PTX: none FENCE | st.relaxed | st.release | atom
extern "C" __global__ void put_notify_block(char *dest, const char *source, size_t n)
{
    DIRECT();
    shmemx_putmem_notify_block(dest, source, n, 3, 1);
}

// Both words of a counter are acquired, the one in main memory in some looks only; whether the job
// ends, or a PE was lost, is asked now and then.
// PTX: 2 LOOK
// PTX: every LOOK in a loop
// PTX: some LOOK from LOOK
// PTX: every ld.volatile after LOOK
// PTX: some ld.relaxed.sys.global.u64 from LOOK
// PTX: some LOOK from LOOK without ld.relaxed.sys
// PTX: none FENCE | st.relaxed | st.release | atom | red
extern "C" __global__ void notify_wait(const volatile long *data, long *out)
{
    DIRECT();
    shmemx_notify_wait(3, 7);
    *out = *data;
}

// PTX: 2 LOOK
// PTX: every ld.volatile after LOOK
// PTX: none FENCE | ld.relaxed | st.relaxed | st.release | atom | red
extern "C" __global__ void notify_fetch(const volatile long *data, uint64_t *out)
{
    DIRECT();
    out[0] = shmemx_notify_fetch(3);
    out[1] = (uint64_t)*data;
}

// One word is set, behind what this thread did, and ahead of what it does next. Nothing is added,
// and the word that peers add to is stored only where there is no other.
// PTX: 2 SET
// PTX: one LOOK
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every SYSTEM_FENCE after SET
// PTX: none SET from SET
// PTX: none SET | LOOK from SYSTEM_FENCE
// PTX: none atom | red | st.relaxed
extern "C" __global__ void notify_reset(uint64_t value)
{
    DIRECT();
    shmemx_notify_reset(3, value);
}
