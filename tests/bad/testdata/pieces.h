/* pieces.h: a buffer that is moved into the heap in two pieces, of which the second is refused. */
#ifndef PIECES_H
#define PIECES_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <shmemx.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { PIECES = 40 << 20, SECOND = 8 << 20 }; /* the library moves 32 MiB at a time */

/* Makes mmap fail in this thread for SECOND bytes at a fixed place. */
static void refuse_second(void)
{
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
    struct sock_filter rows[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
        LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECOND, 0, 3),
        LOAD(args[3]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rows / sizeof *rows, rows};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        perror("seccomp");
}

static void register_pieces(void)
{
    unsigned char *p = aligned_alloc(4096, PIECES);
    size_t wrong = 0;
    for (size_t i = 0; i < PIECES; i++)
        p[i] = (unsigned char)(i / 4096 % 251 + 1);
    if (shmem_my_pe() == 1)
        refuse_second();
    if (shmemx_buffer_register_symmetric(p, PIECES, 0) == NULL)
        fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), shmemx_last_error_text());
    for (size_t i = 0; i < PIECES; i++)
        wrong += p[i] != (unsigned char)(i / 4096 % 251 + 1);
    fprintf(stderr, "PE %d has lost %zu bytes\n", shmem_my_pe(), wrong);
    free(p);
}

#endif
