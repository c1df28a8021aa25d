/*
 * messages.c: two-sided messages with arguments that have no meaning, or that wait for nothing.
 */
#include "cases.h"

#include <shmemx.h>

#define NEXT ((me + 1) % n)

CASE(send_wrong_pe)
{
    shmemx_send(here, 8, 0, n);
}
CASE(send_any_source)
{
    shmemx_send_test(here, 8, 0, SHMEMX_ANY_SOURCE);
}
CASE(send_any_tag)
{
    shmemx_send(here, 8, SHMEMX_ANY_TAG, NEXT);
}
CASE(send_tag)
{
    shmemx_send_test(here, 8, -5, NEXT);
}
CASE(send_null)
{
    shmemx_send(NULL, 8, 0, NEXT);
}
CASE(send_size)
{
    shmemx_send(here, (size_t)1 << 48, 0, NEXT);
}
CASE(send_negative_size)
{
    shmemx_send_test(here, (size_t)-8, 0, NEXT);
}
CASE(recv_wrong_pe)
{
    int pe = n;
    shmemx_recv(here, sizeof here, NULL, &pe, NULL);
}
CASE(recv_negative_pe)
{
    int pe = -2;
    shmemx_recv_test(here, sizeof here, NULL, &pe, NULL);
}
CASE(recv_tag)
{
    int tag = -2;
    shmemx_recv(here, sizeof here, &tag, NULL, NULL);
}
CASE(recv_null)
{
    shmemx_recv_test(NULL, 8, NULL, NULL, NULL);
}
CASE(send_after_finalize)
{
    shmem_finalize();
    shmemx_send(here, 8, 0, 0);
}
CASE(recv_after_finalize)
{
    shmem_finalize();
    shmemx_recv(here, sizeof here, NULL, NULL, NULL);
}
/* The error is the thread's, and the job goes on. */
CASE(too_short)
{
    long value = me, got = -1;
    shmemx_send(&value, sizeof value, 9, NEXT);
    if (shmemx_recv(&got, 3, NULL, NULL, NULL) != -1 || got != -1)
        return;
    fprintf(stderr, "PE %d: error %d: %s\n", me, shmemx_last_error(), shmemx_last_error_text());
    if (shmemx_recv(&got, 8, NULL, NULL, NULL) == 0 && got == (me + n - 1) % n)
        fprintf(stderr, "PE %d went on\n", me);
}
CASE(hang_recv)
{
    int pe = 1, tag = 4;
    if (me == 1) {
        await_go();
        shmemx_send(NULL, 0, 5, 0);
        shmemx_send(NULL, 0, 4, 0);
    } else {
        shmemx_recv(NULL, 0, &tag, &pe, NULL);
    }
}
CASE(hang_recv_any)
{
    if (me == 1) {
        await_go();
        shmemx_send(NULL, 0, 5, 0);
    } else {
        shmemx_recv(NULL, 0, NULL, NULL, NULL);
    }
}
/* A long message that no receive takes, and then a mailbox that is full. */
CASE(hang_send)
{
    static char bytes[5000];
    int pe = 1;
    if (me == 1) {
        await_go();
        shmemx_recv(bytes, sizeof bytes, NULL, NULL, NULL);
    } else {
        shmemx_send(bytes, sizeof bytes, 6, pe);
    }
}
CASE(hang_full)
{
    if (me == 1) {
        await_go();
        for (int i = 0; i < 2000; i++)
            shmemx_recv(here, sizeof here, NULL, NULL, NULL);
    } else {
        for (int i = 0; i < 2000; i++)
            shmemx_send(here, sizeof here, 6, 1);
    }
}
CASE(nothing)
{
}
