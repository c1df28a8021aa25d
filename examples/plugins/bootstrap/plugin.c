/*
 * plugin.c: a program's own bootstrap, for PEs of one machine that share a file: MYJOB_FILE, which
 * is empty when they begin. MYJOB_RANK and MYJOB_SIZE say which PE a process is, and how many
 * PEs the job has.
 *
 *   cc -shared -fPIC plugin.c -o plugin.so
 *   SHMEM_BOOTSTRAP_PLUGIN=./plugin.so MYJOB_FILE=... MYJOB_RANK=0 MYJOB_SIZE=2 ./prog
 */
#define _GNU_SOURCE
#include <shmemx_bootstrap.h>

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PES = 64, ROOM = 1 << 20 };

/* The record of one PE in the file that all PEs map: how many barriers it has entered, its process
 * id, and the bytes that it contributes to the present allgather. */
struct pe_record {
    uint64_t barriers;
    int pid;
    char bytes[ROOM];
};

static struct pe_record *records;

/* The value of a variable, or -1 if it is not set. */
static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

int shmemx_bootstrap_rank(void)
{
    return number("MYJOB_RANK");
}

int shmemx_bootstrap_size(void)
{
    return number("MYJOB_SIZE");
}

/* Maps the file at the first call. Returns 0, or -1 after a message. */
static int open_records(void)
{
    int pes = shmemx_bootstrap_size();
    if (records != NULL)
        return 0;
    if (pes > MAX_PES) {
        fprintf(stderr, "plugin: %d PEs, at most %d\n", pes, MAX_PES);
        return -1;
    }
    const char *name = getenv("MYJOB_FILE");
    int fd = open(name ? name : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    size_t size = (size_t)pes * sizeof *records;
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED) {
        perror("plugin: MYJOB_FILE");
        return -1;
    }
    records = at;
    records[shmemx_bootstrap_rank()].pid = getpid();
    return 0;
}

/* Milliseconds of a clock that nobody sets. */
static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until all PEs have come, and not beyond a time of now_ms: a sleep may take longer than it
 * is asked to, so counting sleeps does not tell the time. Returns as shmemx_bootstrap_barrier does.
 */
static int wait_for_all(int64_t deadline)
{
    uint64_t mine =
        __atomic_add_fetch(&records[shmemx_bootstrap_rank()].barriers, 1, __ATOMIC_ACQ_REL);
    for (int pe = 0; pe < shmemx_bootstrap_size(); pe++)
        while (__atomic_load_n(&records[pe].barriers, __ATOMIC_ACQUIRE) < mine) {
            if (now_ms() >= deadline)
                return pe + 1; /* this PE has not come: shmemx_bootstrap.h has the results */
            usleep(1000);
        }
    return 0;
}

int shmemx_bootstrap_barrier(int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;
    return open_records() != 0 ? -1 : wait_for_all(deadline);
}

int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms; /* of both waits together */
    if (nbytes > ROOM || open_records() != 0)
        return -1;
    memcpy(records[shmemx_bootstrap_rank()].bytes, mine, nbytes);
    int missing = wait_for_all(deadline);
    if (missing != 0)
        return missing;
    for (int pe = 0; pe < shmemx_bootstrap_size(); pe++)
        memcpy((char *)all + (size_t)pe * nbytes, records[pe].bytes, nbytes);
    /* The next allgather overwrites the records, so no PE may begin it before all have read them.
     */
    return wait_for_all(deadline);
}

void shmemx_bootstrap_abort(int status, const char *reason)
{
    (void)status, (void)reason;
    for (int pe = 0; records != NULL && pe < shmemx_bootstrap_size(); pe++)
        if (pe != shmemx_bootstrap_rank() && records[pe].pid > 0)
            kill(records[pe].pid, SIGTERM);
}
