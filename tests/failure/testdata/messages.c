/*
 * messages.c: one PE is killed while others send to it and receive from it.
 *
 * Survivors are in one call when it dies, by their number: a receive from it, a receive from any
 * PE, a long message to it, short ones until its mailbox is full, or puts to it, as a server's to
 * its client. Whatever the call was, one receive from any PE ends. What the victim had sent before
 * can still be received. The argument: the victim.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 300000, SENT = 3 };

static int me, n, victim, passed, failed;

#include "check.h"
#include "entering.h"

/* The last call has failed because the victim is lost. */
static void lost(int rc, const char *call)
{
    int error = shmemx_last_error();
    CHECK(rc == -1 && error == SHMEMX_ERROR_PE_LOST, "%s: result %d, error %d", call, rc, error);
    CHECK(shmemx_last_error_pe() == victim, "%s: about PE %d", call, shmemx_last_error_pe());
    CHECK(strstr(shmemx_last_error_text(), call) != NULL, "%s: \"%s\"", call,
          shmemx_last_error_text());
}

/* What it has sent is received, the rest is not waited for. */
static void drain(char *bytes)
{
    for (int i = 0; i < SENT; i++) {
        int tag = i, pe = victim, value = -1;
        int rc = shmemx_recv(&value, sizeof value, &tag, &pe, NULL);
        CHECK(rc == 0 && value == 100 + i, "message %d of the dead: %d, %d, %s", i, rc, value,
              shmemx_last_error_text());
    }
    int pe = victim, tag = 9;
    lost(shmemx_recv(bytes, LONG, &tag, &pe, NULL), "shmemx_recv");
    lost(shmemx_recv(bytes, LONG, NULL, &pe, NULL), "shmemx_recv");
    lost(shmemx_recv_test(bytes, LONG, NULL, &pe, NULL), "shmemx_recv_test");
}

static void die(char *bytes)
{
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; pe != victim && i < SENT; i++) {
            int value = 100 + i;
            shmemx_send(&value, sizeof value, i, pe);
        }
    /* A long message that it has only announced. */
    shmemx_send_test(bytes, LONG, 9, (victim + 1) % n);
    shmem_quiet();
    shmem_barrier_all();
    await_others();
    raise(SIGKILL);
}

/* The survivors of the victim exchange messages of both kinds. */
static void go_on(char *bytes, char *got)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    right = right == victim ? (right + 1) % n : right;
    left = left == victim ? (left + n - 1) % n : left;
    for (int i = 0; i < 20; i++) {
        size_t size = i % 2 ? LONG : 50, came = 0;
        memset(bytes, me + i, size);
        int sent = 0, received = 0, tag = 50 + i;
        while (sent == 0 || received == 0) {
            if (sent == 0)
                sent = shmemx_send_test(bytes, size, 50 + i, right);
            if (received == 0)
                received = shmemx_recv_test(got, LONG, &tag, &left, &came);
            if (sent < 0 || received < 0) { /* told of the loss now */
                int error = shmemx_last_error();
                CHECK(error == SHMEMX_ERROR_PE_LOST, "error %d", error);
                sent = sent < 0 ? 0 : sent;
                received = received < 0 ? 0 : received;
            }
        }
        CHECK(came == size && got[0] == (char)(left + i) && got[size - 1] == (char)(left + i),
              "message %d of PE %d has %zu bytes", i, left, came);
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    victim = argc > 1 ? atoi(argv[1]) : 1;
    char *bytes = calloc(1, LONG), *got = calloc(1, LONG);
    char *there = shmem_malloc(LONG);
    entering = shmem_calloc(1, sizeof *entering);
    if (me == victim)
        die(bytes);
    shmem_barrier_all();
    int tag = 77, rc = 0, pe = victim, way = (me - victim + n) % n % 5;
    enter();
    switch (way) {
    case 0:
        lost(shmemx_recv(bytes, LONG, &tag, &pe, NULL), "shmemx_recv");
        break;
    case 1:
        lost(shmemx_recv(bytes, LONG, &tag, NULL, NULL), "shmemx_recv");
        break;
    case 2:
        lost(shmemx_send(bytes, LONG, 0, victim), "shmemx_send");
        break;
    case 3:
        for (int i = 0; rc == 0; i++)
            rc = shmemx_send(bytes, 1000, i, victim);
        lost(rc, "shmemx_send");
        break;
    default:
        while (shmemx_last_error_text()[0] == 0)
            shmem_putmem(there, bytes, LONG, victim);
        lost(-1, "shmem_putmem");
    }
    if (way != 1)
        lost(shmemx_recv(bytes, LONG, &tag, NULL, NULL), "shmemx_recv");
    drain(bytes);
    lost(shmemx_send(bytes, 10, 0, victim), "shmemx_send");
    lost(shmemx_send(bytes, LONG, 0, victim), "shmemx_send");
    lost(shmemx_send_test(bytes, LONG, 0, victim), "shmemx_send_test");
    go_on(bytes, got);
    printf("PE %d: %d passed, %d failed\n", me, passed, failed);
    fflush(stdout);
    shmem_finalize();
    return failed != 0;
}
