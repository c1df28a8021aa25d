/*
 * forbid.c: runs a program under a seccomp filter that forbids one system call, as a sandbox does.
 *
 *     forbid CALL ERROR PROGRAM ARGS...
 *
 * ERROR is EPERM or ENOSYS. CALL is the system call's name; "thread" is clone of a thread. No
 * filter sees the arguments of clone3, so it is then missing altogether, and the C library takes
 * clone instead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"thread", SYS_clone},
    {"epoll_create1", SYS_epoll_create1},
    {"epoll_ctl", SYS_epoll_ctl},
    {"epoll_pwait", SYS_epoll_pwait},
    {"eventfd2", SYS_eventfd2},
    {"futex", SYS_futex},
    {"get_mempolicy", SYS_get_mempolicy},
    {"memfd_create", SYS_memfd_create},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"pidfd_open", SYS_pidfd_open},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"set_mempolicy", SYS_set_mempolicy},
    {"socket", SYS_socket},
    {"mbind", SYS_mbind},
    {"userfaultfd", SYS_userfaultfd},
};

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#define DATA(field) (unsigned)offsetof(struct seccomp_data, field)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(field))
#define UNLESS(test, value, skip) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, (skip))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define FAIL(error) RETURN(SECCOMP_RET_ERRNO | (unsigned)(error))
#define ALLOW RETURN(SECCOMP_RET_ALLOW)

static int install(struct sock_filter *filter, size_t n)
{
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int forbid(unsigned number, int error)
{
    struct sock_filter filter[] = {
        LOAD(arch), UNLESS(BPF_JEQ, MACHINE, 3), LOAD(nr), UNLESS(BPF_JEQ, number, 1), FAIL(error),
        ALLOW,
    };
    return install(filter, sizeof filter / sizeof *filter);
}

static int forbid_threads(int error)
{
    struct sock_filter filter[] = {
        LOAD(arch),    UNLESS(BPF_JEQ, MACHINE, 7),
        LOAD(nr),      UNLESS(BPF_JEQ, SYS_clone3, 1),
        FAIL(ENOSYS),  UNLESS(BPF_JEQ, SYS_clone, 3),
        LOAD(args[0]), UNLESS(BPF_JSET, CLONE_THREAD, 1),
        FAIL(error),   ALLOW,
    };
    return install(filter, sizeof filter / sizeof *filter);
}

int main(int argc, char **argv)
{
    size_t i = 0, n = sizeof calls / sizeof *calls;
    while (argc > 3 && i < n && strcmp(argv[1], calls[i].name) != 0)
        i++;
    if (argc <= 3 || i == n || (strcmp(argv[2], "EPERM") != 0 && strcmp(argv[2], "ENOSYS") != 0)) {
        fprintf(stderr, "use: forbid CALL EPERM|ENOSYS PROGRAM ARGS...\n");
        return 100;
    }
    int error = strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS;
    if ((i == 0 ? forbid_threads(error) : forbid(calls[i].number, error)) != 0) {
        perror("install a seccomp filter");
        return 101;
    }
    execv(argv[3], argv + 3);
    perror(argv[3]);
    return 102;
}
