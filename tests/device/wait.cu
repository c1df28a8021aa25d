// How a GPU thread waits for the proxy.
#include <shmem/ring.h>

// PTX let SLOT = st.relaxed.sys.global.v2.u64
// PTX let FENCE = fence | membar
// PTX let SYSTEM_FENCE = fence.acq_rel.sys | fence.sc.sys | membar.sys
// PTX let HEAD = atom.relaxed.gpu.global.add.u64
// PTX let KEEP_TAIL = st.release.gpu.global.u64
// PTX let CLAIM = atom.acquire.gpu.global.or.b32
// PTX let GIVE_BACK = red.release.gpu.global.and.b32
// PTX let PASSED = ld.acquire.sys.global.u64
// PTX let TURN = ld.acquire.sys.global.u32
// PTX let FAR_WORD = ld.relaxed.sys.global.u32
// PTX let VALUE = ld.relaxed.sys.global.u64
// PTX let SHARED_TAIL = ld.acquire.sys.global.u64
// PTX let NEAR_WORD = ld.relaxed.gpu.global.u64

// What the caller wrote is visible before the slot is, and what the proxy wrote
// before it said done is visible after: a value loaded next is behind the wait.
// Whether the ring was stopped is not asked at each look. The tail is acquired,
// too, by a wait for room: that is before the slot.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every SYSTEM_FENCE after st except SLOT | KEEP_TAIL
// PTX: one SLOT
// PTX: every SLOT after SYSTEM_FENCE
// PTX: one HEAD
// PTX: every HEAD after SYSTEM_FENCE
// PTX: every HEAD after NEAR_WORD
// PTX: some PASSED from SLOT
// PTX: every PASSED in a loop
// PTX: some FAR_WORD from SLOT
// PTX: some PASSED from PASSED without FAR_WORD
// PTX: every PASSED after HEAD
// PTX: every ld.volatile after PASSED from SLOT
// PTX: none NEAR_WORD | SLOT from SLOT
extern "C" __global__ void quiet(const struct shmemi_ring *rings, uint64_t *mine,
                                 const volatile uint64_t *theirs)
{
    *mine = 7;
    if (shmemi_ring_quiet(rings, 1, 0, 0) == 0)
        *mine = *theirs;
}

// With several rings, the caller first waits until what the others hold was
// taken: their heads are read after the fence, so that they count what happens
// before it, and the slot comes after.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every NEAR_WORD | SHARED_TAIL after SYSTEM_FENCE
// PTX: every HEAD after NEAR_WORD
// PTX: some SHARED_TAIL without HEAD
// PTX: one SLOT
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every PASSED in a loop
// PTX: some PASSED from SLOT
// PTX: every ld.volatile after PASSED from SLOT
extern "C" __global__ void quiet_many(const struct shmemi_ring *rings, uint64_t *mine,
                                      const volatile uint64_t *theirs)
{
    if (shmemi_ring_quiet(rings, 4, 1, 0) == 0)
        *mine = *theirs;
}

// A job's only ring keeps its order by itself: the fence's slot is all.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every SYSTEM_FENCE after st except SLOT | KEEP_TAIL
// PTX: one HEAD
// PTX: every HEAD after SYSTEM_FENCE
// PTX: every HEAD after NEAR_WORD
// PTX: one SLOT
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every SLOT after HEAD
// PTX: none ld.acquire from SLOT
extern "C" __global__ void fence_one(const struct shmemi_ring *rings, uint64_t *mine)
{
    *mine = 7;
    shmemi_ring_fence(rings, 1, 0, 0);
}

// Among several it holds once the proxy has met it.
// PTX: one FENCE
// PTX: one SYSTEM_FENCE
// PTX: every NEAR_WORD | SHARED_TAIL after SYSTEM_FENCE
// PTX: every HEAD after NEAR_WORD
// PTX: every SLOT after SYSTEM_FENCE
// PTX: every PASSED in a loop
// PTX: every SLOT before PASSED
extern "C" __global__ void fence_many(const struct shmemi_ring *rings)
{
    shmemi_ring_fence(rings, 4, 1, 0);
}

// The turn is read before the operation is seen, and the value after the turn
// has changed; the place is another's only when both were read. No fence: the
// operand rides in the slots. Before the head a claim is for a place, and after
// it for the proxy's tail, which back_pressure is about.
// PTX: none FENCE
// PTX: some CLAIM without HEAD
// PTX: 1 CLAIM from HEAD
// PTX: every HEAD after CLAIM
// PTX: every HEAD after FAR_WORD from CLAIM
// PTX: every HEAD after FAR_WORD
// PTX: every HEAD after NEAR_WORD
// PTX: 2 SLOT
// PTX: every TURN in a loop
// PTX: some TURN from TURN without FAR_WORD
// PTX: some FAR_WORD from TURN without VALUE
// PTX: every TURN after HEAD
// PTX: 2 GIVE_BACK
// PTX: one GIVE_BACK from TURN
// PTX: every GIVE_BACK after VALUE from TURN
// PTX: every GIVE_BACK after FAR_WORD from TURN
// PTX: every GIVE_BACK after HEAD
// PTX: every GIVE_BACK after SHARED_TAIL without TURN
// PTX: none VALUE | TURN | FAR_WORD after GIVE_BACK from TURN
// PTX: none SLOT | CLAIM after TURN
extern "C" __global__ void fetch(const struct shmemi_ring *r, uint64_t *result)
{
    uint32_t i = shmemi_reply_claim(r, threadIdx.x);
    if (i == SHMEMI_NO_REPLY)
        return;
    uint32_t turn = shmemi_reply_turn(r, i);
    struct shmemi_words words = shmemi_pack_amo_wide(1, 0, 64, 1, 3, 5, 0, 1, i);
    shmemi_push(r, &words, SHMEMI_SLOTS_AMO_WIDE);
    shmemi_reply_wait(r, i, turn, result);
}
