/*
 * counters.c: the counters of a program's own communication.
 *
 * Each PE makes a known number of operations on the next one and checks by how much the counters
 * for that PE have grown. If the two share memory nothing is counted. The program sends nothing
 * else to that PE in the meantime.
 */
#include "check.h"

#include <shmemx.h>

enum { NAMES, SMALL, LARGE, ATOMIC, TOTALS, NICS, WRONG, TESTS };
enum { BIG = 20000, COUNTERS = 128 };

static uint64_t before[COUNTERS];
static int peer;
static bool far; /* peer shares no memory with this PE */

static uint64_t read_counter(const char *name, int pe)
{
    uint64_t value = UINT64_MAX;
    int id = shmemx_pcntr_find(name);
    CHECK(id >= 0, "there is no counter %s", name);
    CHECK(shmemx_pcntr_get(id, pe, &value) == 0, "%s of PE %d cannot be read", name, pe);
    return value;
}

static void begin(void)
{
    shmem_quiet();
    for (int id = 0; id < shmemx_pcntr_count() && id < COUNTERS; id++)
        shmemx_pcntr_get(id, peer, &before[id]);
}

static uint64_t grown(const char *name)
{
    return read_counter(name, peer) - before[shmemx_pcntr_find(name)];
}

static void expect(const char *name, uint64_t want)
{
    uint64_t got = grown(name);
    CHECK(got == (far ? want : 0), "%s grew by %llu instead of %llu", name, (unsigned long long)got,
          (unsigned long long)(far ? want : 0));
}

static void names(void)
{
    check_start(NAMES, "shmemx_pcntr_name and find");
    int n = shmemx_pcntr_count();
    CHECK(n > 20 && n < COUNTERS, "there are %d counters", n);
    for (int id = 0; id < n; id++) {
        const char *name = shmemx_pcntr_name(id);
        CHECK(name != NULL && shmemx_pcntr_find(name) == id, "counter %d is not found by its name",
              id);
    }
}

static void small(uint64_t *words, uint64_t *signal)
{
    static const char bytes[100];
    check_start(SMALL, "counters of p, small puts and signals");
    begin();
    for (int i = 0; i < 10; i++)
        shmem_uint64_p(&words[i], 1, peer);
    for (int i = 0; i < 3; i++)
        shmem_putmem(words, bytes, sizeof bytes, peer);
    shmem_putmem_signal(words, bytes, sizeof bytes, signal, 1, SHMEM_SIGNAL_ADD, peer);
    shmem_quiet();
    expect("elements", 10);
    expect("puts", 3);
    expect("put_signals", 1);
    expect("writes", 0);
    expect("reads", 0);
    expect("atomics", 0);
    CHECK(!far || grown("message_bytes") > 80 + 4 * sizeof bytes, "message_bytes grew by %llu",
          (unsigned long long)grown("message_bytes"));
    CHECK(!far || grown("received_messages") > 0, "no answer was counted");
    CHECK(!far || read_counter("most_unacknowledged", peer) > 0, "no message went unacknowledged");
}

static void large(char *words)
{
    static char bytes[BIG];
    check_start(LARGE, "counters of large puts and of gets");
    begin();
    shmem_putmem(words, bytes, sizeof bytes, peer);
    shmem_getmem(bytes, words, 400, peer);
    shmem_quiet();
    /* On a network that keeps no order and reports no arrival all operations are messages. */
    if (grown("writes") > 0) {
        expect("writes", 1);
        expect("write_bytes", BIG);
        expect("puts", 0);
    } else {
        expect("puts", 5);
    }
    expect("reads", 1);
    expect("read_bytes", 400);
    expect("elements", 0);
}

static void atomic(uint64_t *words)
{
    check_start(ATOMIC, "counters of atomic operations");
    begin();
    for (int i = 0; i < 4; i++)
        shmem_uint64_atomic_add(words, 1, peer);
    shmem_uint64_atomic_fetch_inc(words, peer);
    shmem_quiet();
    expect("atomics", 5);
    expect("puts", 0);
}

static void totals(void)
{
    check_start(TOTALS, "counters of all PEs together");
    uint64_t sum = 0;
    for (int pe = 0; pe < check.n; pe++)
        sum += read_counter("elements", pe);
    uint64_t all = read_counter("elements", -1);
    CHECK(sum == all, "elements add up to %llu, for all it is %llu", (unsigned long long)sum,
          (unsigned long long)all);
    read_counter("stall_ns", -1);
    read_counter("proxy_overslept", -1);
}

static void nics(void)
{
    check_start(NICS, "counters of NICs");
    int n = shmemx_pcntr_nics(), ops = shmemx_pcntr_find("nic_operations");
    uint64_t sum = 0, value = 0;
    CHECK((n > 0) >= far, "%d NICs", n);
    for (int nic = 0; nic < n; nic++) {
        CHECK(shmemx_pcntr_nic_name(nic) != NULL, "NIC %d has no name", nic);
        CHECK(shmemx_pcntr_get_nic(ops, nic, &value) == 0, "NIC %d cannot be read", nic);
        sum += value;
    }
    CHECK(!far || sum > 0, "%d NICs, and none has done anything", n);
    CHECK(shmemx_pcntr_nic_name(n) == NULL, "NIC %d has a name", n);
}

static void wrong(void)
{
    check_start(WRONG, "counters that do not exist");
    uint64_t value = 7;
    int n = shmemx_pcntr_count(), reads = shmemx_pcntr_find("reads");
    CHECK(shmemx_pcntr_find("no_such") == -1 && shmemx_pcntr_find(NULL) == -1, "it is found");
    CHECK(shmemx_pcntr_name(n) == NULL && shmemx_pcntr_name(-1) == NULL, "it has a name");
    CHECK(shmemx_pcntr_get(n, 0, &value) != 0 && shmemx_pcntr_get(-1, 0, &value) != 0,
          "it has a value");
    CHECK(shmemx_pcntr_get(reads, check.n, &value) != 0 && shmemx_pcntr_get(reads, -2, &value) != 0,
          "a PE that does not exist has one");
    CHECK(shmemx_pcntr_get(shmemx_pcntr_find("stalls"), 0, &value) != 0,
          "stalls are kept for each PE");
    CHECK(shmemx_pcntr_get_nic(reads, 0, &value) != 0, "reads are kept for each NIC");
    CHECK(shmemx_pcntr_get_nic(shmemx_pcntr_find("nic_lost"), shmemx_pcntr_nics(), &value) != 0,
          "a NIC that does not exist has a counter");
    CHECK(value == 7, "the value was changed");
}

int main(void)
{
    check_open("counters", TESTS);
    char *words = check_alloc(BIG);
    uint64_t *signal = check_alloc(sizeof *signal);
    *signal = 0;
    peer = (check.me + 1) % check.n;
    far = shmem_ptr(words, peer) == NULL;
    shmem_barrier_all();
    names();
    small((uint64_t *)(void *)words, signal);
    shmem_barrier_all();
    large(words);
    shmem_barrier_all();
    atomic((uint64_t *)(void *)words);
    shmem_barrier_all();
    totals();
    nics();
    wrong();
    return check_close();
}
