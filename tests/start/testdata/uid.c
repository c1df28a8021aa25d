/*
 * uid.c: PEs without a launcher. PE 0 makes a unique id, and writes it to a file; the others wait
 * for the file. In a session each makes it.
 *
 * usage: uid PE NPES FILE [times T | die PE | exit STATUS | spoil BYTE | number PE]
 */
#define _GNU_SOURCE
#include <shmemx.h>

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_id(const shmemx_uniqueid_t *id, const char *name)
{
    char draft[600];
    snprintf(draft, sizeof draft, "%s.draft", name);
    FILE *f = fopen(draft, "w");
    if (f == NULL || fwrite(id, sizeof *id, 1, f) != 1 || fclose(f) != 0 ||
        rename(draft, name) != 0) {
        perror(name);
        exit(10);
    }
}

static void read_id(shmemx_uniqueid_t *id, const char *name)
{
    FILE *f;
    while ((f = fopen(name, "r")) == NULL)
        usleep(1000);
    if (fread(id, sizeof *id, 1, f) != 1) {
        perror(name);
        exit(10);
    }
    fclose(f);
}

static int entries(const char *name)
{
    int n = 0;
    DIR *d = opendir(name);
    while (d != NULL && readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void join(int pe, int npes, const char *file, const char *what, int number)
{
    shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    bool session = getenv("SHMEM_BOOTSTRAP_SESSION") || getenv("NVSHMEM_BOOTSTRAP_UID_SESSION_ID");
    if (session || pe == 0) {
        if (shmemx_get_uniqueid(&id) != 0)
            exit(11);
        if (!session)
            write_id(&id, file);
    } else {
        read_id(&id, file);
    }
    if (strcmp(what, "spoil") == 0)
        ((unsigned char *)&id)[number] ^= 0x20;
    if (shmemx_set_attr_uniqueid_args(strcmp(what, "number") == 0 ? number : pe, npes, &id,
                                      &attr) != 0)
        exit(12);
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        exit(13);
}

/* Each PE writes to the next. */
static void work(int pe, int npes)
{
    if (shmem_my_pe() != pe || shmem_n_pes() != npes) {
        printf("PE %d of %d, not %d of %d\n", shmem_my_pe(), shmem_n_pes(), pe, npes);
        exit(14);
    }
    int *box = shmem_malloc(sizeof *box);
    *box = -1;
    shmem_barrier_all();
    shmem_int_p(box, pe, (pe + 1) % npes);
    shmem_barrier_all();
    if (*box != (pe + npes - 1) % npes) {
        printf("PE %d got %d\n", pe, *box);
        exit(15);
    }
    shmem_free(box);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int pe = atoi(argv[1]), npes = atoi(argv[2]);
    const char *what = argc > 4 ? argv[4] : "";
    int number = argc > 5 ? atoi(argv[5]) : 0;
    int times = strcmp(what, "times") == 0 ? number : 1;
    int descriptors = 0, threads = 0;
    for (int i = 0; i < times; i++) {
        char file[512];
        snprintf(file, sizeof file, "%s.%d", argv[3], i);
        join(pe, npes, file, what, number);
        work(pe, npes);
        if (strcmp(what, "die") == 0 && pe == number)
            raise(SIGKILL);
        if (strcmp(what, "exit") == 0 && pe == 1)
            shmem_global_exit(number);
        shmem_barrier_all();
        /* A library that does the same is in use as well. */
        shmem_init();
        shmem_finalize();
        shmem_finalize();
        if (i == times / 2) {
            descriptors = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
    }
    if (times > 2 &&
        (entries("/proc/self/fd") > descriptors || entries("/proc/self/task") > threads + 4)) {
        printf("%d descriptors and %d threads became %d and %d\n", descriptors, threads,
               entries("/proc/self/fd"), entries("/proc/self/task"));
        return 16;
    }
    printf("PE %d done\n", pe);
    return 0;
}
