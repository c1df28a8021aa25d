/*
 * load.c: tests the effects of loading the library on a process.
 *
 * usage: load libshmem.so
 */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        n += e->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

int main(int argc, char **argv)
{
    struct sigaction before[NSIG], after[NSIG];
    sigset_t mask_before, mask_after;
    memset(before, 0, sizeof before);
    memset(after, 0, sizeof after);
    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &before[s]);
    sigprocmask(SIG_SETMASK, NULL, &mask_before);

    if (argc < 2 || dlopen(argv[1], RTLD_NOW) == NULL) {
        fprintf(stderr, "dlopen: %s\n", argc < 2 ? "no file" : dlerror());
        return 1;
    }
    int bad = 0;
    if (threads() != 1) { /* one that a constructor has made is there from then on */
        fprintf(stderr, "%d threads after loading, expected 1\n", threads());
        bad = 1;
    }
    for (int s = 1; s < NSIG; s++) {
        sigaction(s, NULL, &after[s]);
        /* The signal asks for a report, and must not kill a PE before shmem_init. */
        if (s == SIGUSR2) {
            if (after[s].sa_handler == SIG_DFL) {
                fprintf(stderr, "signal %d has its default after loading\n", s);
                bad = 1;
            }
            continue;
        }
        if (before[s].sa_handler != after[s].sa_handler ||
            before[s].sa_flags != after[s].sa_flags) {
            fprintf(stderr, "signal %d is handled in another way after loading\n", s);
            bad = 1;
        }
    }
    sigprocmask(SIG_SETMASK, NULL, &mask_after);
    if (memcmp(&mask_before, &mask_after, sizeof mask_before) != 0) {
        fprintf(stderr, "the signal mask is another one after loading\n");
        bad = 1;
    }
    puts("loaded");
    return bad;
}
