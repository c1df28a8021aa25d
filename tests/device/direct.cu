// What a GPU thread does to reach a peer whose memory has an address here. The
// kernels leave the ring out: push.cu and wait.cu are about it.
#include <shmem/shmem.cuh>

// PTX let FENCE = fence | membar
// PTX let SYSTEM_FENCE = fence.acq_rel.sys
// PTX let COMPLETE = fence.sc.sys
// PTX let ELEMENT = st.relaxed.sys.global
// PTX let BULK = st.v2.u64
// PTX let LOOK = ld.acquire.sys.global
// PTX let RAGGED = call.shmemi_copy_ends | call.shmemi_copy_by

// Where a PE has no address here, its operation is handed to one of these. Each
// kernel below has both ways; a rule that leaves them out is about stores and
// loads. Ranges are not checked and no rings flushed: those have calls as well.
// PTX let SEND_ELEMENT = call.shmemi_send_element | call.shmemi_request_element
// PTX let SEND_BULK = call.shmemi_put_method | call.shmemi_get_range
// PTX let SEND_ATOM = call.shmemi_send_atom | call.shmemi_request_packed
// PTX let RING = SEND_ELEMENT | SEND_BULK | SEND_ATOM
#define DIRECT()                                                                                   \
    do {                                                                                           \
        __builtin_assume(shmemi_here.job.checks == 0);                                             \
        __builtin_assume(shmemi_here.job.ring_count == 0);                                         \
    } while (0)

// One strong store, so that a reader that polls sees it whole, and no fence.
// PTX: one ELEMENT
// PTX: one st.relaxed.sys.global.u32
// PTX: none FENCE | atom | red | ld.acquire
// PTX: none st except ELEMENT | st.param
// PTX: one RING
// PTX: none RING from ELEMENT
// PTX: none ELEMENT from RING
extern "C" __global__ void p(int *dest, int value)
{
    DIRECT();
    shmem_int_p(dest, value, 1);
}

// Then every thread sees it: the fence after the store, once, and nothing else.
// PTX: one ELEMENT
// PTX: one COMPLETE
// PTX: one FENCE
// PTX: every ELEMENT before COMPLETE
// PTX: every COMPLETE after ELEMENT | RING
// PTX: none st except ELEMENT | st.param
// PTX: none atom | red | ld.acquire
extern "C" __global__ void p_quiet(long *dest, long value)
{
    DIRECT();
    shmem_long_p(dest, value, 1);
    shmem_quiet();
}

// PTX: 2 ELEMENT
// PTX: one SYSTEM_FENCE
// PTX: one FENCE
// PTX: every SYSTEM_FENCE after ELEMENT | RING
// PTX: every SYSTEM_FENCE before ELEMENT | RING
// PTX: one ELEMENT from SYSTEM_FENCE
extern "C" __global__ void p_fence_p(long *dest, long value)
{
    DIRECT();
    shmem_long_p(dest, value, 1);
    shmem_fence();
    shmem_long_p(dest + 1, value, 1);
}

// A strong load: a weak one might be answered from before the peer wrote.
// PTX: one ld.relaxed.sys.global.u16
// PTX: one RING
// PTX: none FENCE | atom | red
extern "C" __global__ void g(const short *source, short *out)
{
    DIRECT();
    *out = shmem_short_g(source, 1);
}

// Bulk stores are weak; no fence is the put's own. The first goes ahead of the tests for others.
// PTX: 5 BULK
// PTX: none FENCE | st.relaxed | st.release | atom | red
// PTX: none ld.relaxed | ld.acquire
// PTX: one call.shmemi_copy_ends
// PTX: one call.shmemi_copy_by
// PTX: every call.shmemi_copy_by after call.shmemi_copy_ends
// PTX: one RING
// PTX: none BULK | call.shmemi_copy_ends from call.shmemi_copy_by
extern "C" __global__ void put_block(char *dest, const char *source, size_t n)
{
    DIRECT();
    shmemx_putmem_nbi_block(dest, source, n, 1);
}

// Bulk loads from a peer are strong.
// PTX: 4 ld.relaxed.sys.global.v2.u64
// PTX: none FENCE | ld.v2 except ld.relaxed.sys.global.v2.u64 | ld.param
// PTX: none ld.relaxed | RAGGED from bar.sync | barrier.sync
// PTX: every RAGGED before bar.sync | barrier.sync
// PTX: every RING after bar.sync | barrier.sync
// PTX: every RING before bar.sync | barrier.sync
extern "C" __global__ void get_block(char *dest, const char *source, size_t n)
{
    DIRECT();
    shmemx_getmem_block(dest, source, n, 1);
}

// The signal is one release after the data, of the whole system's scope.
// PTX: one st.release.sys.global.u64
// PTX: one red.release.sys.global.add.u64
// PTX: some BULK
// PTX: none FENCE | st.relaxed | atom
// PTX: none BULK | RAGGED from st.release | red
extern "C" __global__ void put_signal(char *dest, const char *source, size_t n, uint64_t *signal,
                                      int op)
{
    DIRECT();
    shmem_putmem_signal(dest, source, n, signal, 1, op, 1);
}

// In a block, after all threads have met behind their stores.
// PTX: one st.release.sys.global.u64
// PTX: every st.release after bar.sync | barrier.sync
// PTX: none BULK | RAGGED from bar.sync | barrier.sync
// PTX: none FENCE | st.relaxed | atom | red
extern "C" __global__ void put_signal_block(char *dest, const char *source, size_t n,
                                            uint64_t *signal)
{
    DIRECT();
    shmemx_putmem_signal_block(dest, source, n, signal, 1, SHMEM_SIGNAL_SET, 1);
}

// A signal alone is in no order with anything.
// PTX: one st.relaxed.sys.global.u64
// PTX: none FENCE | st.release | red | atom
extern "C" __global__ void signal_set(uint64_t *signal)
{
    DIRECT();
    shmem_signal_set(signal, 1, 1);
}

// PTX: one red.relaxed.sys.global.add.u64
// PTX: none FENCE | st.release | atom
extern "C" __global__ void signal_add(uint64_t *signal)
{
    DIRECT();
    shmem_signal_add(signal, 1, 1);
}

// What the writer wrote before is visible behind the wait; whether the job ends,
// or a PE was lost, is asked now and then, and the thread ends with it.
// PTX: some LOOK from LOOK
// PTX: every ld.volatile after LOOK
// PTX: some ld.relaxed.sys.global.u64 from LOOK
// PTX: some LOOK from LOOK without ld.relaxed.sys
// PTX: none FENCE | st.relaxed | atom | red
extern "C" __global__ void wait(uint64_t *signal, const volatile long *data, long *out)
{
    DIRECT();
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 7);
    *out = *data;
}

// PTX: one LOOK
// PTX: none FENCE | ld.relaxed | atom | red
extern "C" __global__ void test(int *ivar, int *out)
{
    DIRECT();
    *out = shmem_int_test(ivar, SHMEM_CMP_GE, 3);
}

// Atomic with every thread of the machine; those without an answer ask for none.
// PTX: one red.relaxed.sys.global.add.u32
// PTX: one atom.relaxed.sys.global.add.u64
// PTX: one atom.relaxed.sys.global.cas.b32
// PTX: one atom.relaxed.sys.global.exch.b64
// PTX: one red.relaxed.sys.global.or.b64
// PTX: one atom.relaxed.sys.global.and.b32
// PTX: one red.relaxed.sys.global.xor.b32
// PTX: one red.relaxed.sys.global.add.f32
// PTX: one atom.relaxed.sys.global.add.f64
// PTX: one ld.relaxed.sys.global.u64
// PTX: one st.relaxed.sys.global.u32
// PTX: none FENCE
extern "C" __global__ void atomics(int *i, long *l, uint32_t *u, uint64_t *w, float *f, double *d,
                                   long *out)
{
    DIRECT();
    shmem_int_atomic_add(i, 3, 1);
    out[0] = shmem_long_atomic_fetch_inc(l, 1);
    out[1] = shmem_int_atomic_compare_swap(i, 3, 4, 1);
    out[2] = shmem_long_atomic_swap(l, 5, 1);
    shmem_uint64_atomic_or(w, 3, 1);
    out[3] = shmem_uint32_atomic_fetch_and(u, 7, 1);
    shmem_uint32_atomic_xor(u, 7, 1);
    shmemx_float_atomic_add(f, 1.5f, 1);
    out[4] = (long)shmemx_double_atomic_fetch_add(d, 1.5, 1);
    out[5] = (long)shmem_uint64_atomic_fetch(w, 1);
    shmem_uint32_atomic_set(u, 7, 1);
}

// A flag of a barrier passes on what this thread has seen: by a release where the
// peer has an address, and else by a fence ahead of the ring.
// PTX: 1 LOOK
// PTX: one st.release.sys.global.u64
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: one call.shmemi_send_atom
// PTX: every call.shmemi_send_atom after SYSTEM_FENCE from LOOK
// PTX: none st.release from FENCE
extern "C" __global__ void pass_on(uint64_t *heard, uint64_t *flag, uint64_t step, int pe)
{
    while (shmemi_poll(heard) < step)
        ;
    shmemi_flag(SHMEMI_JOB, flag, step, pe);
}
