/* Calls on a stream: strided copies and flush. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <string.h>

enum { WORDS = 10 };

static int failed;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
        failed = 1;
    }
}

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, from = (me + n - 1) % n;
    int *box = nvshmem_calloc(3 * WORDS, sizeof *box), near[3 * WORDS] = {0};
    for (int i = 0; i < WORDS; i++)
        near[2 * i] = 100 * me + i;
    nvshmemx_int_iput_on_stream(box, near, 3, 2, WORDS, next, NULL);
    nvshmemx_flush_on_stream(NULL);
    check(nvshmemx_int_g_on_stream(box, next, NULL) == 100 * me, "what the stream has put");
    nvshmem_barrier_all();
    memset(near, 0, sizeof near);
    nvshmemx_iget32_on_stream(near, box, 2, 3, WORDS, me, NULL);
    check(nvshmemx_int_g_on_stream(box, me, NULL) == 100 * from, "what g reads");
    for (int i = 0; i < WORDS; i++)
        check(near[2 * i] == 100 * from + i && near[2 * i + 1] == 0, "every second element");
    memset(near, 0, sizeof near);
    nvshmemx_iget64_on_stream(near, box, 1, 1, 2, next, NULL);
    check(nvshmemx_int_g_on_stream(box, next, NULL) == near[0] && near[3] == 100 * me + 1, "a row");
    nvshmem_barrier_all();
    if (me == 0)
        printf("%d%s\n", n, failed ? "" : " passed");
    fflush(stdout);
    nvshmem_barrier_all();
    if (me == 1)
        nvshmemx_int_iput_on_stream(box, near, 0, 1, 1, 0, NULL); /* it ends the job */
    nvshmem_barrier_all();
    nvshmem_finalize();
    return failed;
}
