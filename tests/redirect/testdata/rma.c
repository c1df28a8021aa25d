/* rma.c: puts and gets of several widths and strides, in statics and on the heap. */
#include "program.h"

static long elements[8], filled[4] = {1, 2, 3, 4};
static double strided[12];
static char bytes[16] = "unchanged";
long long counter = 7;

int main(void)
{
    begin();
    int right = (me + 1) % n, left = (me + n - 1) % n;
    static int once;
    shmem_int_p(&once, 100 + me, right);
    long source[8];
    for (int i = 0; i < 8; i++)
        source[i] = 10 * me + i;
    shmem_long_put(elements, source, 8, right);
    shmem_putmem(bytes + 2, "PUT", 3, right);
    shmem_longlong_p(&counter, 40 + me, right);
    double pieces[6] = {me, me + .25, me + .5, me + .75, me + 1, me + 1.25};
    shmem_double_iput(strided, pieces, 3, 2, 3, right);
    shmem_barrier_all();
    say("once %d elements %ld %ld bytes %s counter %lld", once, elements[0], elements[7], bytes,
        counter);
    say("strided %g %g %g %g", strided[0], strided[1], strided[3], strided[6]);
    say("filled of PE %d: %ld, here %ld", left, shmem_long_g(&filled[3], left), filled[0]);

    long *heap = shmem_malloc(8 * sizeof *heap);
    int *zeros = shmem_calloc(4, sizeof *zeros);
    double *aligned = shmem_align(256, 4 * sizeof *aligned);
    say("zeros %d, aligned to 256 bytes: %d", zeros[3], (unsigned long)aligned % 256 == 0);
    for (int i = 0; i < 8; i++)
        heap[i] = 1000 * me + i;
    shmem_barrier_all();
    long got[8] = {0};
    shmem_long_get(got, heap, 8, left);
    shmem_barrier_all();
    shmem_put64(heap, source, 2, right);
    shmem_quiet();
    shmem_long_get_nbi(got + 4, heap + 4, 4, right);
    shmem_put32_nbi(zeros, source, 2, right);
    shmem_quiet();
    shmem_barrier_all();
    say("got %ld %ld %ld, heap %ld %ld %ld, zeros %d", got[0], got[3], got[4], heap[0], heap[1],
        heap[2], zeros[0]);
    shmem_int_p(zeros + 3, me, right);
    shmem_fence();
    shmem_int_p(zeros + 2, 1, right);
    shmem_int_wait_until(zeros + 2, SHMEM_CMP_EQ, 1);
    say("behind the fence: %d", zeros[3]);
    heap = shmem_realloc(heap, 64 * sizeof *heap);
    say("grown %ld, accessible %d %d", heap[2], shmem_addr_accessible(heap, right),
        shmem_addr_accessible(elements, right));
    say("own static by shmem_ptr: %d, PE %d accessible: %d", shmem_ptr(elements, me) == elements,
        right, shmem_pe_accessible(right));
    shmem_barrier_all();
    shmem_free(heap);
    shmem_free(zeros);
    shmem_free(aligned);
    shmem_finalize();
    return 0;
}
