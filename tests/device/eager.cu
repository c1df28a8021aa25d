// Eager transfers of a GPU thread to a peer whose memory has an address here.
#include <shmem/eager.cuh>

// PTX let FENCE = fence | membar
// PTX let SYSTEM_FENCE = fence.acq_rel.sys
// PTX let PACKET = st.relaxed.sys.global.v2.u64 | st.relaxed.sys.global.u64
// PTX let PAIR = st.relaxed.sys.global.v2.u64
// PTX let SIGNAL = st.relaxed.sys.global.u64
// PTX let COUNT = red.release.sys.global.add.u64
// PTX let BULK = st.v2.u64
// PTX let LOOK = ld.acquire.sys.global.u64
// PTX let READ = ld.relaxed.sys.global.u64
// PTX let RAGGED = call.shmemi_eager_move_rest | call.shmemi_copy_ends | call.shmemi_copy_by
// PTX let BARRIER = bar.sync | barrier.sync

// The tile is known, and the address of the slot, so that one way is left.
#define DIRECT(e, tile_)                                                                           \
    do {                                                                                           \
        __builtin_assume(shmemi_here.job.checks == 0);                                             \
        __builtin_assume(shmemi_here.job.ring_count == 0);                                         \
        e.tile = tile_;                                                                            \
    } while (0)

// Every store is strong and has its epoch in it: no fence, and no signal that follows.
// PTX: none FENCE | atom | red | ld.acquire | BARRIER
// PTX: 5 PAIR
// PTX: some PACKET
// PTX: none st except PACKET | st.param
extern "C" __global__ void send_packets(shmemx_eager_t e, const char *source)
{
    DIRECT(e, SHMEMX_EAGER_PACKET);
    shmemx_eager_send_warp(&e, 0, source, 1, 1);
}

// The data of all tiles, one fence, and then the signals.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: some st except SIGNAL
// PTX: every SIGNAL after SYSTEM_FENCE
// PTX: none st except SIGNAL | st.param from SYSTEM_FENCE
// PTX: none RAGGED from SYSTEM_FENCE
// PTX: none atom | red | ld.acquire
extern "C" __global__ void send_lines(shmemx_eager_t e, const char *source)
{
    DIRECT(e, SHMEMX_EAGER_LINE);
    shmemx_eager_send(&e, 0, source, 1, 1);
}

// The threads meet first: signals follow the data of all of them.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: some BULK
// PTX: some BARRIER
// PTX: none SYSTEM_FENCE from BULK without BARRIER
// PTX: none SIGNAL from BULK without SYSTEM_FENCE
// PTX: none BULK | RAGGED from SYSTEM_FENCE
// PTX: some SIGNAL from SYSTEM_FENCE
extern "C" __global__ void send_blocks(shmemx_eager_t e, const char *source)
{
    DIRECT(e, SHMEMX_EAGER_BLOCK);
    shmemx_eager_send_block(&e, 0, source, 1, 1);
}

// The threads meet, and one of them stores the signal and adds to the counter, with release.
// PTX: none FENCE | atom | ld.acquire
// PTX: one red
// PTX: one COUNT
// PTX: some BULK
// PTX: none COUNT from BULK without BARRIER
// PTX: none st except st.param from COUNT
extern "C" __global__ void send_counted(shmemx_eager_t e, const char *source)
{
    DIRECT(e, SHMEMX_EAGER_NOTIFY);
    shmemx_eager_send_block(&e, 0, source, 1, 1);
}

// A thread acquires each signal that it looks at; nothing else is ordered.
// PTX: every LOOK in a loop
// PTX: some LOOK
// PTX: none FENCE | atom | red
extern "C" __global__ void wait_blocks(shmemx_eager_t e)
{
    DIRECT(e, SHMEMX_EAGER_BLOCK);
    shmemx_eager_wait(&e, 0, 1);
}

// Data is loaded behind the signals, and once the threads have met.
// PTX: some LOOK
// PTX: some ld.v2.u64
// PTX: none ld.v2.u64 from LOOK without BARRIER
// PTX: none LOOK from ld.v2.u64
// PTX: none FENCE | atom | red
extern "C" __global__ void recv_blocks(shmemx_eager_t e, char *dest)
{
    DIRECT(e, SHMEMX_EAGER_BLOCK);
    shmemx_eager_recv_block(&e, 0, dest, 1);
}

// A packet is data and epoch in one strong load.
// PTX: some READ
// PTX: every READ in a loop
// PTX: none ld.acquire | FENCE | atom | red
extern "C" __global__ void recv_packets(shmemx_eager_t e, char *dest)
{
    DIRECT(e, SHMEMX_EAGER_PACKET);
    shmemx_eager_recv(&e, 0, dest, 1);
}
