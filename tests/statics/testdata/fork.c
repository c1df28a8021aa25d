/*
 * fork.c: the view of globals in children, and the visibility of their writes, while another thread
 * and another PE write all the time. With "held", a child sees the state of one moment; with
 * "copied", the kernel does not give this user the permission for that, so that an order between
 * globals may be lost in a child.
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FORKS = 30, PAGE = 4096 };

/* Each on pages of its own, and written in this order: first, on the heap, last. */
static _Alignas(PAGE) atomic_long first[2 * PAGE / sizeof(long)];
static _Alignas(PAGE) char between[16 * PAGE];
static _Alignas(PAGE) atomic_long last[2 * PAGE / sizeof(long)];
static atomic_long *on_heap;
static _Alignas(PAGE) long child_writes = 17;
static long untouched[3 * PAGE]; /* in .bss: no PE has ever written there */
static long from_peer;
static atomic_int stop;
static int in_handler;
static int is_child;

static void *write_on(void *arg)
{
    (void)arg;
    for (long i = 1; !stop; i++) {
        atomic_store(&first[0], i);
        atomic_store(on_heap, i);
        atomic_store(&last[0], i);
        between[i % sizeof between] = (char)i;
    }
    return NULL;
}

/* Registered before shmem_init, and run in the child before fork returns. */
static void handler(void)
{
    in_handler = 1;
}

#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "%s: ", is_child ? "child" : "parent");                                     \
            dprintf(2, __VA_ARGS__);                                                               \
            dprintf(2, "\n");                                                                      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void child(int held)
{
    is_child = 1;
    long a = first[0], h = *on_heap, b = last[0], w = from_peer;
    if (held)
        REQUIRE(a >= h && h >= b && a - b <= 1, "torn: %ld, %ld, %ld", a, h, b);
    REQUIRE(in_handler == 1, "the handler's write is lost");
    child_writes = -1;
    untouched[PAGE] = -1;
    from_peer = -5;
    usleep(300);
    REQUIRE(first[0] == a && last[0] == b && *on_heap == h,
            "the parent's writes are seen: %ld, %ld", a, first[0]);
    REQUIRE(from_peer == -5 && w >= 0, "another PE's writes are seen");
    pid_t p = fork(); /* a grandchild, of a process that shares nothing */
    if (p == 0) {
        child_writes = -2;
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(p, &status, 0) == p && status == 0, "grandchild");
    REQUIRE(child_writes == -1, "the grandchild's write is seen");
    _exit(0);
}

static void expect(int status, const char *what)
{
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s ended with %#x", what, status);
    REQUIRE(child_writes == 17 && untouched[PAGE] == 0, "the writes of %s are seen: %ld, %ld", what,
            child_writes, untouched[PAGE]);
    REQUIRE(in_handler == 0, "what a handler has written in the child is seen after %s", what);
    REQUIRE(shmem_long_g(&child_writes, shmem_my_pe()) == 17, "by the library, too");
}

int main(int argc, char **argv)
{
    int held = argc > 1 && strcmp(argv[1], "held") == 0, level;
    pthread_atfork(NULL, NULL, handler);
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    int me = shmem_my_pe(), peer = (me + 1) % shmem_n_pes();
    enum { NOBODY = 65534 };
    if (!held && geteuid() == 0)
        REQUIRE(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0,
                "setresuid");
    on_heap = calloc(1, sizeof *on_heap);
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, write_on, NULL) == 0, "no thread");
    shmem_barrier_all();
    for (int i = 1; i <= FORKS; i++) {
        pid_t p = fork();
        if (p == 0)
            child(held);
        for (int k = 0; k < 50; k++)
            shmem_long_p(&from_peer, i * 100 + k, peer);
        int status;
        REQUIRE(waitpid(p, &status, 0) == p, "no child");
        expect(status, "fork");
        REQUIRE(shmem_long_g(&child_writes, peer) == 17, "a child of the peer writes to it");
        long seen = last[0];
        while (last[0] == seen)
            ; /* the thread goes on */
    }
    expect(system("exit 0"), "system");
    FILE *f = popen("echo words", "r");
    char line[16] = "";
    REQUIRE(f != NULL && fgets(line, sizeof line, f) && strcmp(line, "words\n") == 0, "popen: %s",
            line);
    expect(pclose(f), "popen");
    pid_t p;
    char *args[] = {"true", NULL};
    int status;
    REQUIRE(posix_spawnp(&p, "true", NULL, NULL, args, environ) == 0, "posix_spawn");
    waitpid(p, &status, 0);
    expect(status, "posix_spawn");
    p = vfork();
    if (p == 0) {
        execvp("true", args);
        _exit(9);
    }
    waitpid(p, &status, 0);
    expect(status, "vfork");
    stop = 1;
    pthread_join(other, NULL);
    shmem_barrier_all();
    REQUIRE(from_peer == FORKS * 100 + 49, "the peer's writes: %ld", from_peer);
    shmem_finalize();

    p = fork(); /* after finalize they are still in the memory file */
    if (p == 0) {
        child_writes = -1;
        _exit(0);
    }
    waitpid(p, &status, 0);
    REQUIRE(status == 0 && child_writes == 17, "fork after finalize: %ld", child_writes);
    if (me == 0)
        printf("children are apart\n");
}
