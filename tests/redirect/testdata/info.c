/* info.c: version, name, thread levels, and the oldest names. */
#include "program.h"

static int box;

int main(void)
{
    int provided = -1;
    say("init_thread %d", shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
    me = shmem_my_pe();
    n = shmem_n_pes();
    say("thread level: %d", provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
    int major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    say("version %d.%d, as compiled: %d, name %s, as compiled: %d", major, minor,
        major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, name,
        strcmp(name, SHMEM_VENDOR_STRING) == 0);
    say("oldest names: %d %d", _my_pe() == me, _num_pes() == n);
    void *old = shmalloc(100);
    say("shmalloc: %d", old != NULL);
    shfree(old);
#if OSHMEM_MAJOR_VERSION < 5
    void *hinted = shmemx_malloc_with_hint(100, SHMEM_HINT_ATOMICS);
    say("hint: %d", hinted != NULL);
    shmem_free(hinted);
#endif
    shmem_int_p(&box, me + 1, (me + 1) % n);
    shmem_barrier_all();
    say("box %d", box);
    shmem_finalize();
    return 0;
}
