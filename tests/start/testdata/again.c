/*
 * again.c: jobs of different sizes, one after the other, in the same processes; and the resources
 * that they leave in the process.
 *
 * usage: again PE NPES FILE ROUNDS
 *
 * In each round the first 1 to NPES processes are a job. With MPI (-DMPI) a communicator is split
 * for it, else PE 0 makes a unique id and writes it to FILE.
 */
#define _GNU_SOURCE
#include <shmemx.h>

#ifdef MPI
#include <mpi.h>
#endif

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FDS, THREADS, MAPPINGS, SIZE, RESIDENT, KINDS };

static const char *const kinds[] = {"descriptors", "threads", "mappings", "kB of address space",
                                    "kB of memory"};

static long entries(const char *name)
{
    long n = 0;
    DIR *d = opendir(name);
    while (d != NULL && readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void measure(long now[KINDS])
{
    char line[1024];
    now[FDS] = entries("/proc/self/fd");
    now[THREADS] = entries("/proc/self/task");
    now[MAPPINGS] = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f) != NULL)
        now[MAPPINGS]++;
    fclose(f);
    f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f) != NULL) {
        (void)sscanf(line, "VmSize: %ld", &now[SIZE]);
        (void)sscanf(line, "VmRSS: %ld", &now[RESIDENT]);
    }
    fclose(f);
}

/* The namespaces of the process, as the kernel names them. */
static void namespaces(char *text, size_t size)
{
    const char *names[] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        snprintf(file, sizeof file, "/proc/self/ns/%s", names[i]);
        ssize_t got = readlink(file, text + n, size - n - 1);
        n += got > 0 ? (size_t)got : 0;
    }
    text[n] = '\0';
}

#ifndef MPI
static void share(shmemx_uniqueid_t *id, int pe, const char *name)
{
    char draft[600];
    FILE *f;
    if (pe == 0) {
        snprintf(draft, sizeof draft, "%s.draft", name);
        if (shmemx_get_uniqueid(id) != 0 || (f = fopen(draft, "w")) == NULL ||
            fwrite(id, sizeof *id, 1, f) != 1 || fclose(f) != 0 || rename(draft, name) != 0)
            exit(10);
        return;
    }
    while ((f = fopen(name, "r")) == NULL)
        usleep(500);
    if (fread(id, sizeof *id, 1, f) != 1)
        exit(11);
    fclose(f);
}
#endif

static void job(int pe, int npes, shmemx_init_attr_t *attr, unsigned flags)
{
    if (shmemx_init_attr(flags, attr) != 0)
        exit(12);
    if (shmem_my_pe() != pe || shmem_n_pes() != npes)
        exit(13);
    long *box = shmem_malloc(1 << 20);
    long *sum = shmem_malloc(sizeof *sum);
    box[0] = -1;
    shmem_barrier_all();
    shmem_long_p(box, pe, (pe + 1) % npes);
    shmem_barrier_all();
    long from = (pe + npes - 1) % npes;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, box, 1);
    if (box[0] != from || *sum != npes * (npes - 1) / 2)
        exit(14);
    shmem_finalize();
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    int pe = atoi(argv[1]), npes = atoi(argv[2]), rounds = atoi(argv[4]);
#ifdef MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &pe);
    MPI_Comm_size(MPI_COMM_WORLD, &npes);
#endif
    char before[1024], after[1024];
    namespaces(before, sizeof before);
    /* The lowest value in the last sixth may not be above the highest in the third sixth: resources
     * kept by each job add up over a third of all rounds, and temporary ones do not. The first
     * third differs from the rest. */
    long most[KINDS] = {0}, least[KINDS], now[KINDS], between = 0;
    for (int k = 0; k < KINDS; k++)
        least[k] = LONG_MAX;
    for (int round = 0; round < rounds; round++) {
        int size = 1 + round % npes;
        shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
#ifdef MPI
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, pe < size, pe, &comm);
        attr.mpi_comm = &comm;
        if (pe < size)
            job(pe, size, &attr, SHMEMX_INIT_WITH_MPI_COMM);
        MPI_Comm_free(&comm);
#else
        shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
        char file[512];
        snprintf(file, sizeof file, "%s.%d", argv[3], round);
        if (pe >= size)
            continue;
        share(&id, pe, file);
        if (shmemx_set_attr_uniqueid_args(pe, size, &id, &attr) != 0)
            exit(15);
        job(pe, size, &attr, SHMEMX_INIT_WITH_UNIQUEID);
#endif
        measure(now);
        between += round >= rounds / 2 && round < 5 * rounds / 6;
        for (int k = 0; k < KINDS; k++) {
            if (round >= rounds / 3 && round < rounds / 2 && now[k] > most[k])
                most[k] = now[k];
            if (round >= 5 * rounds / 6 && now[k] < least[k])
                least[k] = now[k];
        }
        if (getenv("VERBOSE") != NULL)
            printf("round %d: %ld %ld %ld %ld %ld\n", round, now[0], now[1], now[2], now[3],
                   now[4]);
    }
    /* Provider net of libfabric 1.17 keeps 1.1 kB of each job, for which C's heap grows by 132
     * kB at a time; Go's did by one mapping of 512 kB beside busy threads. Resident memory grew by
     * 156 kB once. A mapping of each job would be many. */
    most[MAPPINGS] += between / 4;
    most[SIZE] += 1100;
    most[RESIDENT] += 200;
    /* On a busy machine Go starts a thread although it had enough before, and keeps it, with a
     * stack and an arena: a few of these in all rounds do not belong to a job. */
    long more = least[THREADS] - most[THREADS];
    if (more > 0 && more <= 3) {
        most[THREADS] += more;
        most[MAPPINGS] += 5 * more;
        most[SIZE] += (80 << 10) * more;
        most[RESIDENT] += 256 * more;
    }
    int bad = 0;
    for (int k = 0; k < KINDS && rounds >= 60; k++) {
        if (least[k] > most[k]) {
            printf("PE %d: %ld %s became %ld or more\n", pe, most[k], kinds[k], least[k]);
            bad = 1;
        }
    }
    namespaces(after, sizeof after);
    if (strcmp(before, after) != 0) {
        printf("PE %d: namespaces %s became %s\n", pe, before, after);
        bad = 1;
    }
#ifdef MPI
    MPI_Finalize();
#endif
    if (!bad)
        printf("PE %d done\n", pe);
    return bad;
}
