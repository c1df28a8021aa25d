/*
 * sendrecv.c: two-sided messages: bytes of each length by each path, order of a pair of PEs, tags
 * and sources of choice, bounded memory, forms that do not wait, and threads.
 *
 * sendrecv [MESSAGES [small]]: so many messages each PE sends in the checks of order, and its
 * threads; small: mailboxes hold few messages, so that none are sent before their receiver asks.
 */
#include "check.h"

#include <shmemx.h>

#include <limits.h>
#include <pthread.h>

enum { SEND, RECV, SEND_TEST, RECV_TEST, TESTS };
enum { ROOM = 300001, PAIRS = 4, THREADS = 4 };

static const size_t sizes[] = {0, 1, 8, 47, 48, 49, 1008, 4016, 4017, 65536, 131073, ROOM};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int messages = 3000;

static unsigned char *near_source, *near_dest; /* symmetric */
static unsigned char *own_source, *own_dest;   /* private */

static unsigned char byte_of(int from, int to, size_t size, size_t i)
{
    return (unsigned char)(from * 31 + to * 17 + (int)(size % 253) + (int)(i % 251));
}

/* The heap may be in the memory of a GPU. */
static void set_bytes(unsigned char *at, bool symmetric, int to, size_t n)
{
    static unsigned char image[ROOM];
    for (size_t i = 0; i < n; i++)
        image[i] = byte_of(check.me, to, n, i);
    if (symmetric)
        shmem_putmem(at, image, n, check.me);
    else
        memcpy(at, image, n);
}

static void compare(const unsigned char *at, bool symmetric, int from, size_t n)
{
    static unsigned char image[ROOM];
    if (symmetric)
        shmem_getmem(image, at, n, check.me);
    else
        memcpy(image, at, n);
    for (size_t i = 0; i < n; i++)
        if (image[i] != byte_of(from, check.me, n, i)) {
            check_fail("byte %zu of %zu from PE %d is %u, want %u", i, n, from, image[i],
                       byte_of(from, check.me, n, i));
            return;
        }
}

/* Every PE sends to the PE k to its right, itself for 0, and receives from the left. Neither may
 * wait alone for a long message. */
static void exchange(int k, size_t size, int kind)
{
    int to = (check.me + k) % check.n, from = (check.me + check.n - k) % check.n;
    bool near_from = kind & 1, near_to = kind & 2;
    unsigned char *source = near_from ? near_source : own_source;
    unsigned char *dest = near_to ? near_dest : own_dest;
    size_t n = sizes[size], got = SIZE_MAX;
    int tag = (int)size * PAIRS + kind, sent = 0, received = 0, with = tag, pe = from;
    set_bytes(source, near_from, to, n);
    while (sent == 0 || received == 0) {
        if (sent == 0)
            sent = shmemx_send_test(source, n, tag, to);
        if (received == 0)
            received = shmemx_recv_test(dest, n, &with, &pe, &got);
    }
    CHECK(sent == 1 && received == 1, "%zu bytes: send gives %d, receive %d", n, sent, received);
    CHECK(got == n && with == tag && pe == from, "%zu bytes, tag %d of PE %d; want %zu, %d, %d",
          got, with, pe, n, tag, from);
    compare(dest, near_to, from, n);
}

static void test_paths(void)
{
    check_start(SEND_TEST, "shmemx_send_test");
    for (int k = 0; k < check.n; k++)
        for (size_t s = 0; s < SIZES; s++)
            for (int kind = 0; kind < PAIRS; kind++)
                exchange(k, s, kind);
    shmem_barrier_all();
}

/* The same with calls that wait: PE 0 to each other PE and back, whose answer is the message. */
static void test_calls(void)
{
    check_start(RECV, "shmemx_recv");
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], got = 0;
        for (int other = 1; other < check.n; other++) {
            int pe = check.me == 0 ? other : 0, tag = SHMEMX_ANY_TAG, rc = 0;
            if (check.me == 0) {
                set_bytes(own_source, false, other, n);
                rc |= shmemx_send(own_source, n, 5, other);
                rc |= shmemx_recv(own_dest, ROOM, &tag, &pe, &got);
                compare(own_dest, false, other, n);
            } else if (check.me == other) {
                pe = SHMEMX_ANY_SOURCE;
                rc |= shmemx_recv(own_dest, ROOM, &tag, &pe, &got);
                compare(own_dest, false, 0, n);
                set_bytes(own_source, false, 0, n);
                rc |= shmemx_send(own_source, n, 5, 0);
            } else {
                continue;
            }
            CHECK(rc == 0, "%zu bytes give %d", n, rc);
            CHECK(got == n && tag == 5, "%zu bytes with tag %d, want %zu with 5", got, tag, n);
            CHECK(pe == (check.me == 0 ? other : 0), "it came from PE %d", pe);
        }
    }
    shmem_barrier_all();
}

struct numbered {
    int from, tag, number;
    char rest[100];
};

static size_t length_of(int number)
{
    return offsetof(struct numbered, rest) + (size_t)(number * 7 % 100);
}

/* Every PE sends numbered messages to all, now and then a long one. They come in order from each
 * PE, whichever comes first. */
static void test_order(void)
{
    check_start(SEND, "shmemx_send");
    enum { RARE = 500 };
    int *next = calloc((size_t)check.n, sizeof *next), sending = 0, total = 0;
    struct numbered out = {.from = check.me}, *in = (struct numbered *)(void *)own_dest;
    memcpy(own_source, &out, sizeof out);
    while (sending < messages || total < messages) {
        if (sending < messages) {
            int to = (check.me + sending) % check.n;
            size_t n = sending % RARE == RARE - 1 ? 20000 : length_of(sending);
            struct numbered *m = (struct numbered *)(void *)own_source;
            m->number = sending / check.n;
            m->tag = m->number % 3;
            sending += shmemx_send_test(m, n, m->tag, to) == 1;
        }
        int tag = SHMEMX_ANY_TAG, pe = SHMEMX_ANY_SOURCE;
        size_t n = 0;
        if (shmemx_recv_test(in, ROOM, &tag, &pe, &n) != 1)
            continue;
        total++;
        CHECK(in->from == pe && in->tag == tag && in->number == next[pe],
              "message %d of PE %d with tag %d says %d, %d and %d", next[pe], pe, tag, in->number,
              in->from, in->tag);
        int number = in->number * check.n + (check.me + check.n - pe) % check.n;
        size_t want = number % RARE == RARE - 1 ? 20000 : length_of(number);
        CHECK(n == want, "message %d of PE %d has %zu bytes, want %zu", number, pe, n, want);
        next[pe] = in->number + 1;
    }
    shmem_barrier_all();
    int tag = SHMEMX_ANY_TAG;
    CHECK(shmemx_recv_test(NULL, 0, &tag, NULL, NULL) == 0, "there is one more message");
    free(next);
    shmem_barrier_all();
}

/* Tags and sources are chosen: the last first. */
static void test_choice(void)
{
    check_start(RECV, "shmemx_recv");
    enum { TAGS = 9 };
    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < check.n; k++)
            for (int i = 0; i < 2 * TAGS; i++) {
                int value = round * 1000 + i;
                int tag = i % TAGS == TAGS - 1 ? INT_MAX : i % TAGS;
                CHECK(shmemx_send(&value, sizeof value, tag, (check.me + k) % check.n) == 0,
                      "a send fails");
            }
        for (int from = check.n - 1; from >= 0; from--)
            for (int i = TAGS - 1; i >= 0; i--)
                for (int twice = 0; twice < 2; twice++) {
                    int value = -1, tag = i == TAGS - 1 ? INT_MAX : i, pe = from;
                    if (twice == 1 && i % 2 == 0)
                        pe = from == 0 ? SHMEMX_ANY_SOURCE : from;
                    int rc = shmemx_recv(&value, sizeof value, &tag, &pe, NULL);
                    CHECK(rc == 0 && pe == from && value == round * 1000 + i + TAGS * twice,
                          "tag %d of PE %d: %d, want %d of PE %d", tag, pe, value,
                          round * 1000 + i + TAGS * twice, from);
                }
        shmem_sync_all();
    }
}

/* A sender does not fill more than its mailbox, and goes on when messages are received; of the
 * right neighbour's memory it takes no more than that. */
static void test_bounds(void)
{
    check_start(SEND_TEST, "shmemx_send_test");
    enum { MOST = 64 * 1024 / 64 };
    int sent = 0, value, tag, pe = check_left(), *counts = check_alloc(2 * sizeof *counts);
    shmem_barrier_all();
    for (value = 0;
         sent <= MOST && shmemx_send_test(&value, sizeof value, value % 2, check_right()) == 1;
         value++)
        sent++;
    CHECK(sent >= 16 && sent <= MOST, "%d messages are sent and not received", sent);
    shmem_barrier_all();
    CHECK(shmemx_send_test(&value, sizeof value, 0, check_right()) == 0, "there is room again");
    shmem_barrier_all();
    shmem_int_p(counts, sent, check_right());
    shmem_int_p(counts + 1, value, check_right());
    shmem_barrier_all();
    int there = shmem_int_g(counts, check.me), last = shmem_int_g(counts + 1, check.me);
    /* The messages with tag 1 first: memory comes back when those before it are received too. */
    for (int t = 1; t >= 0; t--)
        for (int i = t; i < there; i += 2) {
            int got = -1;
            tag = t;
            CHECK(shmemx_recv(&got, sizeof got, &tag, &pe, NULL) == 0 && got == i,
                  "message %d with tag %d is %d", i, t, got);
        }
    while (shmemx_send_test(&value, sizeof value, 2, check_right()) == 0)
        ;
    tag = 2;
    int got = -1;
    CHECK(shmemx_recv(&got, sizeof got, &tag, &pe, NULL) == 0 && got == last,
          "%d comes after, want %d", got, last);
    shmem_barrier_all();
    shmem_free(counts);
}

/* A message for which the buffer is too small stays, as do the buffer and those behind it. */
static void test_short(void)
{
    check_start(RECV, "shmemx_recv");
    static const size_t lengths[] = {8, 4016, 100000};
    for (size_t k = 0; k < 3; k++) {
        size_t n = lengths[k], got = 0;
        int rc = 0, sent = 0, tag = SHMEMX_ANY_TAG, pe = SHMEMX_ANY_SOURCE;
        set_bytes(own_source, false, check_right(), n);
        memset(own_dest, CHECK_SENTINEL, n);
        while (rc == 0) {
            if (sent == 0)
                sent = shmemx_send_test(own_source, n, 3, check_right());
            rc = shmemx_recv_test(own_dest, n - 1, &tag, &pe, &got);
        }
        char want[100];
        snprintf(want, sizeof want, "tag 3 of PE %d has %zu bytes, and the buffer has %zu",
                 check_left(), n, n - 1);
        CHECK(rc == -1 && shmemx_last_error() == SHMEMX_ERROR_MESSAGE &&
                  strstr(shmemx_last_error_text(), want) != NULL,
              "a short buffer gives %d, %s", rc, shmemx_last_error_text());
        if (rc != -1)
            return; /* it is received, and none is left */
        CHECK(tag == 3 && pe == check_left() && got == n && shmemx_last_error_pe() == pe,
              "tag %d, PE %d, %zu bytes", tag, pe, got);
        for (size_t i = 0; i < n; i++)
            if (own_dest[i] != CHECK_SENTINEL) {
                check_fail("byte %zu is written", i);
                break;
            }
        if (k < 2) {
            CHECK(shmemx_recv(NULL, 0, &tag, &pe, NULL) == -1, "it fits no bytes");
            CHECK(shmemx_last_error() == SHMEMX_ERROR_MESSAGE, "no error");
        }
        for (rc = 0; rc == 0 || sent == 0;) {
            if (sent == 0)
                sent = shmemx_send_test(own_source, n, 3, check_right());
            if (rc == 0)
                rc = shmemx_recv_test(own_dest, n, &tag, &pe, &got);
        }
        CHECK(rc == 1 && got == n, "the same message, received again, gives %d and %zu bytes", rc,
              got);
        compare(own_dest, false, check_left(), n);
        shmem_barrier_all();
    }
}

/* What was put before a fence is there with the message behind it. */
static void test_fence(void)
{
    check_start(SEND, "shmemx_send");
    long *flag = check_alloc(sizeof *flag);
    for (long round = 1; round <= 50; round++) {
        shmem_long_p(flag, round, check_right());
        shmem_fence();
        CHECK(shmemx_send(NULL, 0, 0, check_right()) == 0, "a send fails");
        int pe = check_left();
        CHECK(shmemx_recv(NULL, 0, NULL, &pe, NULL) == 0, "a receive fails");
        long seen = shmem_long_g(flag, check.me);
        CHECK(seen == round, "message %ld came before its put: %ld", round, seen);
        shmem_barrier_all();
    }
    shmem_free(flag);
}

/* A receive ends when its limit is over. */
static void test_limit(void)
{
    check_start(RECV_TEST, "shmemx_recv_test");
    int tag = 77;
    CHECK(shmemx_recv_test(NULL, 0, &tag, NULL, NULL) == 0 && tag == 77, "a message came");
    shmemx_wait_limit(2000000);
    CHECK(shmemx_recv(NULL, 0, &tag, NULL, NULL) == -1, "a receive without a message succeeds");
    CHECK(shmemx_wait_limit(0) == 1, "no limit was over");
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "the end of a limit is an error");
    shmem_barrier_all();
}

/* ---------------------------------------------------------------------- threads */

static int each;               /* messages of a thread */
static uint32_t arrived;       /* at this PE */
static uint64_t sums[THREADS]; /* of what the threads have received */

static void *send_all(void *arg)
{
    int id = (int)(intptr_t)arg;
    char *bytes = calloc(1, 6000);
    for (int i = 0; i < each; i++) {
        uint64_t value = (uint64_t)id * 1000000 + (uint64_t)i;
        memcpy(bytes, &value, sizeof value);
        size_t n = i % 64 == 63 ? 6000 : 8 + (size_t)(i % 50);
        if (shmemx_send(bytes, n, id, (check.me + i) % check.n) != 0)
            check_fail("a send of thread %d fails", id);
    }
    free(bytes);
    return NULL;
}

/* Half of the threads take any tag, the others look for one and for no longer than is needed. */
static void *receive_all(void *arg)
{
    int id = (int)(intptr_t)arg;
    char *bytes = malloc(6000);
    uint32_t total = (uint32_t)(THREADS * each);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < total) {
        int tag = id % 2 == 0 ? SHMEMX_ANY_TAG : id;
        size_t n = 0;
        if (shmemx_recv_test(bytes, 6000, &tag, NULL, &n) != 1)
            continue;
        uint64_t value;
        memcpy(&value, bytes, sizeof value);
        CHECK(value / 1000000 == (uint64_t)tag && n >= 8, "tag %d brings %ju", tag,
              (uintmax_t)value);
        sums[id] += value;
        __atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE);
    }
    free(bytes);
    return NULL;
}

/* Of each value each thread's loop sends, one PE gets one; the sum over PEs is known. */
static void test_threads(void)
{
    check_start(RECV_TEST, "shmemx_recv_test");
    each = messages / THREADS / check.n * check.n;
    pthread_t out[THREADS], in[THREADS];
    uint64_t *sum = check_alloc(2 * sizeof *sum), mine = 0, all = 0, want = 0;
    shmem_barrier_all();
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&in[i], NULL, receive_all, (void *)i);
        pthread_create(&out[i], NULL, send_all, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(out[i], NULL);
        pthread_join(in[i], NULL);
        mine += sums[i];
        for (int k = 0; k < each; k++)
            want += ((uint64_t)i * 1000000 + (uint64_t)k) * (unsigned)check.n;
    }
    shmem_putmem(sum, &mine, sizeof mine, check.me);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sum + 1, sum, 1);
    shmem_getmem(&all, sum + 1, sizeof all, check.me);
    CHECK(all == want, "the threads of all PEs have received %ju in all, want %ju", (uintmax_t)all,
          (uintmax_t)want);
    shmem_free(sum);
}

int main(int argc, char **argv)
{
    int provided = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    check_open("sendrecv", TESTS);
    if (argc > 1)
        messages = atoi(argv[1]);
    near_source = check_alloc(ROOM);
    near_dest = check_alloc(ROOM);
    own_source = malloc(ROOM);
    own_dest = malloc(ROOM);
    if (own_source == NULL || own_dest == NULL)
        shmem_global_exit(1);
    test_paths();
    test_calls();
    test_order();
    if (argc < 3) {
        test_choice();
        test_bounds();
        test_fence();
    }
    test_short();
    test_limit();
    test_threads();
    shmem_free(near_source);
    shmem_free(near_dest);
    free(own_source);
    free(own_dest);
    int rc = check_close();
    shmem_finalize();
    return rc;
}
