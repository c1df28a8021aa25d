/* atomics.c: atomic operations, also under names that only Open MPI has. */
#include "program.h"

static int i32;
static long i64;
static unsigned bits = 0xf0;
static int signed_bits = 0xf0;
static long long wide;
static float real = 1.5f;
static int64_t extension;

int main(void)
{
    begin();
    for (int i = 0; i < 100; i++) {
        shmem_int_atomic_inc(&i32, 0);
        shmem_long_atomic_add(&i64, 2, 0);
        shmem_longlong_add(&wide, 3, 0); /* deprecated */
    }
    /* Neither barrier nor quiet of Open MPI 4.1 completes atomics without a result: on a busy
     * machine, some came later in a quarter of the runs. One with a result comes after them. */
    (void)shmem_int_atomic_fetch(&i32, 0);
    (void)shmem_long_atomic_fetch(&i64, 0);
    (void)shmem_longlong_atomic_fetch(&wide, 0);
    shmem_barrier_all();
    if (me == 0)
        say("i32 %d i64 %ld wide %lld", i32, i64, wide);
    shmem_barrier_all();
    int right = (me + 1) % n;
    say("swap %ld", shmem_long_atomic_swap(&i64, 5, right) == (right == 0 ? 200L * n : 0));
    shmem_barrier_all();
    say("compare_swap %ld", shmem_long_atomic_compare_swap(&i64, 5, 6 + me, right));
    shmem_barrier_all();
    say("i64 %ld fetch %ld", i64, shmem_long_atomic_fetch(&i64, right));
    say("float %g", (double)shmem_float_atomic_swap(&real, 2.5f + (float)me, right));
    shmem_barrier_all();
    say("float %g", (double)real);
    shmem_uint_atomic_or(&bits, 1, right);
    (void)shmem_uint_atomic_fetch(&bits, right);
    shmem_barrier_all();
    say("before %#x", shmem_uint_atomic_fetch_and(&bits, 0x3f, right));
    shmem_barrier_all();
    say("bits %#x", bits);
    /* int, long and long long: Open MPI has them, the specification has not */
    shmem_int_atomic_xor(&signed_bits, 0xff, right);
    (void)shmem_int_atomic_fetch(&signed_bits, right);
    shmem_barrier_all();
    say("or, before %#x", shmem_int_atomic_fetch_or(&signed_bits, 0x100, right));
    shmem_barrier_all();
    say("xor and or %#x", signed_bits);
    /* shmemx.h of Open MPI */
    shmemx_int64_add(&extension, me + 1, 0);
    (void)shmemx_int64_fetch(&extension, 0);
    shmemx_int32_finc(&i32, 0);
    shmem_barrier_all();
    if (me == 0)
        say("extension %ld, i32 %d", (long)shmemx_int64_fadd(&extension, 1, 0), i32);
    shmem_finalize();
    return 0;
}
