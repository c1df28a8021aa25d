// How a GPU thread passes an operation to the proxy.
#include <shmem/ring.h>

// The two halves of a slot carry a lap each, so one relaxed store of both is
// enough. A release there costs some forty times as much.
// PTX let SLOT = st.relaxed.sys.global.v2.u64
// PTX let FENCE = fence | membar
// PTX let SYSTEM_FENCE = fence.acq_rel.sys | fence.sc.sys | membar.sys
// PTX let HEAD = atom.relaxed.gpu.global.add.u64
// PTX let SEEN_TAIL = ld.relaxed.gpu.global.u64
// PTX let SHARED_TAIL = ld.acquire.sys.global.u64
// PTX let KEEP_TAIL = st.release.gpu.global.u64
// PTX let ROOM = ld.acquire.gpu.global.u64
// PTX let STOPPED = ld.relaxed.sys.global.u32
// PTX let CLAIM = atom.acquire.gpu.global.or.b32
// PTX let GIVE_BACK = red.release.gpu.global.and.b32

// The operand rides in the slot: no fence at all, and nothing else is stored.
// The seen tail is read ahead of the head's answer. A thread that finds room by
// it goes to the slot and looks at nothing else that others share. One that had
// to wait acquires a tail before it stores: the proxy's, or that of the thread
// that read the proxy's.
// PTX: none FENCE
// PTX: one HEAD
// PTX: none atom | red except HEAD | CLAIM | GIVE_BACK
// PTX: one SLOT
// PTX: none st except SLOT | KEEP_TAIL
// PTX: every HEAD before SLOT | STOPPED
// PTX: every SLOT after HEAD
// PTX: every HEAD after SEEN_TAIL
// PTX: every CLAIM after HEAD
// PTX: some SLOT from HEAD without SEEN_TAIL
// PTX: none SHARED_TAIL | STOPPED | CLAIM | GIVE_BACK | KEEP_TAIL from HEAD without SEEN_TAIL
// PTX: none ROOM from HEAD without SEEN_TAIL
// PTX: none SLOT from SEEN_TAIL without HEAD | ROOM | SHARED_TAIL
// PTX: some SLOT from ROOM
// PTX: every CLAIM in a loop
// PTX: none ld after SLOT
extern "C" __global__ void push_p(const struct shmemi_ring *r, uint32_t value)
{
    struct shmemi_words words = shmemi_pack_p(1, 0, 64, 2, value);
    shmemi_push(r, &words, SHMEMI_SLOTS_P);
}

// No room: the seen tail first, which is near. A thread that then finds no other
// reading the proxy's tail reads it for all: the tail, whether the ring was stopped,
// the store of the tail, the release of the claim, once each. Its acquire and its
// release pass on that the proxy has read the slots. The others look at the
// near tail again after a pause, seldom check themselves whether the ring was
// stopped, and acquire the near tail once it suffices.
// PTX: none FENCE | SLOT
// PTX: none atom | red except CLAIM | GIVE_BACK
// PTX: none st.relaxed
// PTX: 1 CLAIM
// PTX: 1 SHARED_TAIL
// PTX: 1 KEEP_TAIL
// PTX: 1 GIVE_BACK
// PTX: one ROOM
// PTX: every ROOM after SEEN_TAIL
// PTX: none SEEN_TAIL | CLAIM from ROOM
// PTX: 2 STOPPED
// PTX: every CLAIM after SEEN_TAIL
// PTX: every CLAIM in a loop
// PTX: every SHARED_TAIL after CLAIM
// PTX: every STOPPED after SHARED_TAIL from CLAIM without nanosleep
// PTX: every KEEP_TAIL after STOPPED from SHARED_TAIL
// PTX: every GIVE_BACK after KEEP_TAIL
// PTX: every SHARED_TAIL before GIVE_BACK
// PTX: none CLAIM | SEEN_TAIL | nanosleep from SHARED_TAIL without GIVE_BACK
// PTX: none SHARED_TAIL | KEEP_TAIL | GIVE_BACK from GIVE_BACK without CLAIM
// PTX: some SEEN_TAIL from CLAIM without SHARED_TAIL
// PTX: none CLAIM | SEEN_TAIL from CLAIM without nanosleep
// PTX: none CLAIM from CLAIM without SEEN_TAIL
// PTX: some STOPPED from CLAIM without SHARED_TAIL
// PTX: some SEEN_TAIL from nanosleep without STOPPED
// PTX: every STOPPED in a loop
extern "C" __global__ void back_pressure(const struct shmemi_ring *r, uint64_t end, int *stopped)
{
    *stopped = shmemi_await_read(r, end);
}

// Memory that was just written: one fence of the whole system's scope, after
// the writes and before the slots, and not while others wait for positions
// that are taken.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: one HEAD
// PTX: 2 SLOT
// PTX: every SYSTEM_FENCE after st except SLOT | KEEP_TAIL
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every HEAD after SYSTEM_FENCE
// PTX: every HEAD after SEEN_TAIL
// PTX: every HEAD before SLOT | STOPPED
// PTX: none FENCE between HEAD and SLOT
// PTX: none FENCE | st except SLOT after SLOT
extern "C" __global__ void push_fresh_put(const struct shmemi_ring *r, uint64_t *source)
{
    *source = 7;
    struct shmemi_words words = shmemi_pack_put(1, 0, 64, (uintptr_t)source, 8, 0, 0);
    shmemi_before_slots();
    shmemi_push(r, &words, SHMEMI_SLOTS_PUT);
}

// A burst of one thread: one fence, one addition, one look at the tail for all.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: one HEAD
// PTX: 64 SLOT
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every SLOT after HEAD
// PTX: every HEAD after SEEN_TAIL
// PTX: none FENCE between HEAD and SLOT
// PTX: none SEEN_TAIL | SHARED_TAIL | STOPPED | CLAIM | FENCE | st except SLOT after SLOT
extern "C" __global__ void burst(const struct shmemi_ring *r, uint64_t *source)
{
    for (int i = 0; i < 32; i++)
        source[i] = 7;
    shmemi_before_slots();
    struct shmemi_burst b = shmemi_burst_begin(r, 32, SHMEMI_SLOTS_PUT);
#pragma unroll
    for (uint32_t i = 0; i < 32; i++) {
        struct shmemi_words words =
            shmemi_pack_put(1, 0, 64 + 8 * i, (uintptr_t)&source[i], 8, 0, 0);
        shmemi_burst_store(&b, i, &words, SHMEMI_SLOTS_PUT);
    }
    shmemi_burst_end(&b);
}

// The lanes of a warp that come together: one of them adds and looks. It tells
// the others the position, in two halves, and whether there is room. A lane that
// finds itself alone does what push_p does and asks no other lane. The compiler
// makes two copies of the steps, so that each rule speaks of one of them: what
// follows match.all.sync, or the paths without it.
// PTX: none FENCE
// PTX: none atom | red except HEAD | CLAIM | GIVE_BACK
// PTX: none st except SLOT | KEEP_TAIL
// PTX: every HEAD after SEEN_TAIL
// PTX: none SHARED_TAIL | STOPPED | CLAIM | GIVE_BACK | KEEP_TAIL from HEAD without SEEN_TAIL
// PTX: every CLAIM after HEAD
// PTX: every CLAIM in a loop
// PTX: none shfl | match | SEEN_TAIL | SHARED_TAIL | STOPPED | CLAIM after SLOT
// PTX: every match.all.sync | HEAD after activemask
//
// The lane that takes the positions hands them out; alone it is its own leader.
// PTX: one HEAD
// PTX: one SLOT
// PTX: every HEAD before shfl.sync
// PTX: every SLOT after shfl.sync
//
// Alone:
// PTX: none match without match.all.sync
// PTX: one HEAD without match.all.sync
// PTX: one SLOT without match.all.sync
//
// With others; lanes whose ring is not that of all find the lanes that share it.
// PTX: one match.all.sync
// PTX: one match.any.sync
// PTX: every match.any.sync after match.all.sync
// PTX: some HEAD from match.all.sync without match.any.sync
// PTX: none SEEN_TAIL | HEAD between match.all.sync and match.any.sync
// PTX: none match after SEEN_TAIL | HEAD | shfl
// PTX: 3 shfl.sync
// PTX: one HEAD from match.all.sync
// PTX: one SLOT from match.all.sync
// PTX: every HEAD before shfl.sync from match.all.sync
// PTX: every SLOT after shfl.sync from match.all.sync
// PTX: none HEAD | SEEN_TAIL | CLAIM after shfl
extern "C" __global__ void push_lanes(const struct shmemi_ring *r, uint32_t value)
{
    struct shmemi_words words = shmemi_pack_p(1, 0, 64 + 4 * threadIdx.x, 2, value);
    shmemi_push_lanes(r, &words, SHMEMI_SLOTS_P);
}

// The same with memory that each lane has just written. A fence orders what the
// thread itself wrote, so every lane carries it out, at the same time, before it
// looks for others.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every SYSTEM_FENCE after st except SLOT | KEEP_TAIL
// PTX: every activemask | match after SYSTEM_FENCE
// PTX: every HEAD after SYSTEM_FENCE
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every HEAD after SEEN_TAIL
// PTX: none FENCE between HEAD and SLOT
// PTX: none FENCE | st except SLOT after SLOT
// PTX: one HEAD
// PTX: 2 SLOT
// PTX: one HEAD without match.all.sync
// PTX: 2 SLOT without match.all.sync
// PTX: one HEAD from match.all.sync
// PTX: 2 SLOT from match.all.sync
// PTX: 3 shfl.sync
// PTX: every HEAD before shfl.sync from match.all.sync
// PTX: every SLOT after shfl.sync from match.all.sync
extern "C" __global__ void push_fresh_lanes(const struct shmemi_ring *r, uint64_t *source)
{
    source[threadIdx.x] = 7;
    struct shmemi_words words = shmemi_pack_put(1, 0, 64, (uintptr_t)&source[threadIdx.x], 8, 0, 0);
    shmemi_before_slots();
    shmemi_push_lanes(r, &words, SHMEMI_SLOTS_PUT);
}

// A block: every thread makes its own writes visible, one takes the positions
// of all, and after the barrier each stores its slots.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: one HEAD
// PTX: 2 SLOT
// PTX: every SYSTEM_FENCE after st.global except SLOT | KEEP_TAIL
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every bar.sync | barrier.sync after SYSTEM_FENCE
// PTX: every HEAD after SYSTEM_FENCE
// PTX: every HEAD after SEEN_TAIL
// PTX: every HEAD before bar.sync | barrier.sync
// PTX: every SLOT after bar.sync | barrier.sync
// PTX: none FENCE | bar | barrier | st except SLOT after SLOT
extern "C" __global__ void push_block(const struct shmemi_ring *r, uint64_t *source)
{
    __shared__ struct shmemi_burst b;
    source[threadIdx.x] = 7;
    struct shmemi_words words = shmemi_pack_put(1, 0, 64, (uintptr_t)&source[threadIdx.x], 8, 0, 0);
    shmemi_before_slots();
    if (threadIdx.x == 0)
        b = shmemi_burst_begin(r, blockDim.x, SHMEMI_SLOTS_PUT);
    __syncthreads();
    shmemi_burst_store(&b, threadIdx.x, &words, SHMEMI_SLOTS_PUT);
}
