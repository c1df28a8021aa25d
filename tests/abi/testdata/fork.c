/*
 * fork.c: the library is loaded, the process forks, and both use it.
 */
#include "single.h"

#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        int bad = single();
        puts(bad ? "child failed" : "child done");
        fflush(stdout);
        _exit(bad);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "child: wait status %#x\n", (unsigned)status);
        return 1;
    }
    /* Another child while the parent itself is a PE. */
    child = fork();
    if (child == 0)
        _exit(single());
    int bad = single();
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "child beside its parent: wait status %#x\n", (unsigned)status);
        return 1;
    }
    puts(bad ? "parent failed" : "parent done");
    return bad;
}
