// A ring of the smallest kind, for the checker itself.
#include <cstdint>

// PTX let SLOT = st.relaxed.sys.v2
// PTX let FENCE = fence.acq_rel.sys | fence.sc.sys | membar.sys

struct ring {
    unsigned long long *slots;
    unsigned long long *head;
    const unsigned long long *tail;
};

__device__ inline unsigned long long reserve(ring r, unsigned long long n)
{
    unsigned long long p, tail;
    asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;"
                 : "=l"(p)
                 : "l"(r.head), "l"(n)
                 : "memory");
    do
        asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(tail) : "l"(r.tail) : "memory");
    while (p + n - 1024 > tail);
    return p;
}

__device__ inline void store(ring r, unsigned long long p, unsigned long long a,
                             unsigned long long b)
{
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(r.slots + 2 * (p & 1023)), "l"(a),
                 "l"(b)
                 : "memory");
}

// PTX: one atom.relaxed.gpu.add
// PTX: every ld.relaxed.sys in a loop
// PTX: every SLOT after atom.add
// PTX: one SLOT
// PTX: none FENCE
extern "C" __global__ void carried(ring r, unsigned long long value)
{
    store(r, reserve(r, 1), 1, value);
}

// PTX: one FENCE
// PTX: 32 SLOT
// PTX: every FENCE after st except SLOT
// PTX: every SLOT after FENCE
// PTX: none FENCE | st except SLOT after SLOT
extern "C" __global__ void burst(ring r, unsigned long long *source)
{
    *source = 7;
    unsigned long long p = reserve(r, 32);
    __threadfence_system();
#pragma unroll
    for (int i = 0; i < 32; i++)
        store(r, p + i, i, reinterpret_cast<uintptr_t>(source));
}
