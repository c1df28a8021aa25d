/*
 * beside: other programs between the hosts of PE 0 and of the last PE, for comparison: one PE
 * starts a server, the other a client, whose output the reader understands. The PEs of the job wait
 * in a barrier meanwhile.
 */
#define _GNU_SOURCE
#include "perf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADDRESS = 64 }; /* bytes of the text of an address */

static char *address;      /* symmetric: the server's address, stored by the last PE */
static char here[ADDRESS]; /* on the last PE its own address, on PE 0 the server's */

/* Before the first figure: allocates the memory in which the server publishes its address. */
void beside_open(void)
{
    address = symmetric(ADDRESS);
}

/*
 * Stores in `here` the IPv4 address of the interface of this name. If there is none of this name,
 * it stores that of the first interface other than the loopback.
 */
static void find_address(const char *nic)
{
    struct ifaddrs *all = NULL;
    *here = 0;
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *a = all; a; a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || (a->ifa_flags & IFF_LOOPBACK))
            continue;
        bool wanted = !strcmp(a->ifa_name, nic);
        if (wanted || *here == 0)
            inet_ntop(AF_INET, &((struct sockaddr_in *)a->ifa_addr)->sin_addr, here, ADDRESS);
        if (wanted)
            break;
    }
    freeifaddrs(all);
}

/* Starts the server's command in a new process group, so that it can be ended with all its
 * children, and without input and output. Returns its process number. */
static pid_t start_server(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
            !freopen("/dev/null", "w", stderr))
            _exit(126);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/*
 * Runs the client's command with the server's address, and prints each line of its output for the
 * reader. It waits half a second before, until the server listens.
 */
static void run_client(const char *name, const char *command)
{
    char *shell_command = NULL, text[4096];
    if (asprintf(&shell_command, "sleep 0.5; %s %s 2>&1", command, here) < 0)
        shell_command = NULL; /* there is no memory, and the status is 1 */
    FILE *f = shell_command ? popen(shell_command, "r") : NULL;
    free(shell_command);
    while (f && fgets(text, sizeof text, f)) {
        text[strcspn(text, "\n")] = 0;
        for (char *c = text; *c; c++)
            if (*c == '\t')
                *c = ' ';
        printf("beside\tname=%s\ttext=%s\n", name, text);
    }
    int status = f ? pclose(f) : -1;
    printf("besides\tname=%s\tstatus=%d\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    fflush(stdout);
}

/*
 * Runs another program between the hosts of the last PE and PE 0. word is NAME:SERVER:CLIENT; the
 * command of the client gets the address of the server, that of the interface nic, as its last
 * argument. Every PE calls it.
 */
void beside_measure(const char *word, const char *nic)
{
    const char *colon = strchr(word, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    if (second == NULL)
        return;
    char *text = strdup(word);
    if (text == NULL) {
        fprintf(stderr, "shmem-perf: measure beside %s: no memory (end other programs)\n", word);
        shmem_global_exit(1);
        return;
    }
    char *server = text + (colon - word), *client = text + (second - word);
    *server++ = *client++ = 0;
    pid_t pid = 0;
    if (me == npes - 1) {
        find_address(nic);
        store(address, here, ADDRESS);
        pid = start_server(server);
    }
    shmem_barrier_all();
    if (me == 0) {
        shmem_getmem(here, address, ADDRESS, npes - 1);
        run_client(text, client);
    }
    shmem_barrier_all();
    if (pid > 0) {
        kill(-pid, SIGTERM);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    shmem_barrier_all();
    free(text);
}
