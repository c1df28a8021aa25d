/*
 * launcher_abort.c: sends shmemrun the abort frame of runtime/bootstrap/wire, for calls before init
 * and after finalize. While the library is initialised the core sends messages to shmemrun, by a
 * descriptor of its own.
 */
#define _GNU_SOURCE
#include "launcher_abort.h"

#include "zz_frame.h"

#include <stdlib.h>
#include <sys/socket.h>

/* The message that asks shmemrun to end the job; little endian. The members before status are the
 * header of each message to shmemrun; length counts the bytes that follow it. */
struct abort_frame {
    uint32_t magic;
    uint8_t version, kind;
    uint16_t zero;
    uint32_t seq, length;
    int32_t status;
    char reason[512];
};
_Static_assert(offsetof(struct abort_frame, status) == SHMEMI_LAUNCH_HEADER, "no padding");

/* Returns a socket option of fd; -1: fd is not a socket. */
static int option(int fd, int name)
{
    int value = -1;
    socklen_t n = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &n) == 0 ? value : -1;
}

/* Returns the socket to shmemrun, or -1. A program that a PE starts inherits the environment
 * variable but not the descriptor, so the descriptor's number may be any file of that program. */
static int launcher(void)
{
    const char *text = getenv("SHMEM_LAUNCHER_FD");
    int fd = text == NULL ? -1 : atoi(text);
    return option(fd, SO_TYPE) == SOCK_STREAM && option(fd, SO_DOMAIN) == AF_UNIX ? fd : -1;
}

/* Requests the end of the job from shmemrun, with a status and a reason, by one message. It waits
 * for no reply. Returns whether the message was sent. */
bool shmemi_abort_by_launcher(int status, const char *reason)
{
    struct abort_frame f = {.magic = SHMEMI_LAUNCH_MAGIC,
                            .version = SHMEMI_LAUNCH_VERSION,
                            .kind = SHMEMI_LAUNCH_ABORT,
                            .status = status};
    size_t n = strnlen(reason, sizeof f.reason);
    memcpy(f.reason, reason, n);
    f.length = (uint32_t)(sizeof f.status + n);
    n += offsetof(struct abort_frame, reason);
    return send(launcher(), &f, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Returns this PE's number from the environment variable of a launcher; NULL if there is none. */
const char *shmemi_launched_as(void)
{
    static const char *const names[] = {"SHMEM_LAUNCHER_PE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK"};
    const char *pe = NULL;
    for (size_t i = 0; pe == NULL && i < sizeof names / sizeof *names; i++)
        pe = getenv(names[i]);
    return pe;
}
