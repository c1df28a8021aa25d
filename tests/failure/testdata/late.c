/*
 * late.c: one PE skips a barrier, and does something else.
 *
 * The first argument is its behaviour: compute (in no call), wait (in shmem_long_wait_until),
 * finalize, exit (by exit(0)), return (from main), fail (by exit(3)) or gone (by _exit(0)). The
 * second is the PE; the third a file: when it exists the PE continues where it can. Where LATE_UID
 * names a file, the PEs start without a launcher by the unique id in it, as LATE_PE of LATE_NPES.
 */
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void share_id(shmemx_uniqueid_t *id, const char *name, int pe)
{
    char draft[600];
    FILE *f;
    snprintf(draft, sizeof draft, "%s.draft", name);
    if (pe == 0) {
        if (shmemx_get_uniqueid(id) != 0 || (f = fopen(draft, "w")) == NULL ||
            fwrite(id, sizeof *id, 1, f) != 1 || fclose(f) != 0 || rename(draft, name) != 0)
            exit(10);
        return;
    }
    while ((f = fopen(name, "r")) == NULL)
        usleep(1000);
    if (fread(id, sizeof *id, 1, f) != 1)
        exit(11);
    fclose(f);
}

static void join(void)
{
    const char *name = getenv("LATE_UID");
    if (name == NULL) {
        shmem_init();
        return;
    }
    shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    int pe = atoi(getenv("LATE_PE"));
    share_id(&id, name, pe);
    if (shmemx_set_attr_uniqueid_args(pe, atoi(getenv("LATE_NPES")), &id, &attr) != 0 ||
        shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        exit(12);
}

static void wait_for(const char *file)
{
    while (access(file, F_OK) != 0)
        usleep(10000);
}

static long *word;

/* Ends the wait of its own PE. */
static void *release(void *file)
{
    wait_for(file);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    join();
    int me = shmem_my_pe(), late = atoi(argv[2]);
    const char *what = argv[1];
    pthread_t releaser;
    word = shmem_calloc(1, sizeof *word);
    shmem_barrier_all();
    printf("PE %d is process %d\n", me, getpid());
    fflush(stdout);
    if (me == late) {
        if (strcmp(what, "return") == 0)
            return 0;
        if (strcmp(what, "exit") == 0)
            exit(0);
        if (strcmp(what, "fail") == 0)
            exit(3);
        if (strcmp(what, "gone") == 0)
            _exit(0);
        if (strcmp(what, "finalize") == 0) {
            shmem_finalize();
            wait_for(argv[3]);
            printf("PE %d: 1 passed, 0 failed\n", me);
            return 0;
        }
        if (strcmp(what, "wait") == 0) {
            if (pthread_create(&releaser, NULL, release, argv[3]) != 0)
                return 13;
            shmem_long_wait_until(word, SHMEM_CMP_EQ, 1);
            pthread_join(releaser, NULL);
        } else {
            wait_for(argv[3]);
        }
    }
    shmem_barrier_all();
    shmem_finalize();
    printf("PE %d: 1 passed, 0 failed\n", me);
    return 0;
}
