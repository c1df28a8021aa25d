/*
 * spell.c: messages with NVSHMEM's names, for a program that calls the library by them.
 *
 * Within the library calls have the names of OpenSHMEM. Names of settings are not changed.
 */
#include "spell.h"

#include "base.h"
#include "below.h"

#include <ctype.h>
#include <string.h>

static int nvshmem; /* 1: the program calls the library by NVSHMEM's names */

/* Records that the program calls the library by NVSHMEM's names, so that messages name calls as
 * NVSHMEM does. */
void shmemi_as_nvshmem(void)
{
    shmemi_write_once(&nvshmem, 1);
}

/* Reports whether messages have NVSHMEM's names of calls. */
bool shmemi_is_nvshmem(void)
{
    return shmemi_read_once(&nvshmem) != 0;
}

/* Prefixes of names, and what precedes them in NVSHMEM's names. */
static const struct {
    const char *prefix, *before;
} words[] = {
    {"shmem_", "nv"},        {"shmemx_", "nv"},       {"SHMEM_TEAM_", "NV"}, {"SHMEMX_TEAM_", "NV"},
    {"SHMEM_THREAD_", "NV"}, {"SHMEM_SIGNAL_", "NV"}, {"SHMEM_CMP_", "NV"},
};

/* Changes a message, in place, for programs of NVSHMEM: names such as shmem_put become nvshmem_put.
 * `size` is the room for the text; a name for which it does not suffice stays. */
void shmemi_use_program_names(char *text, size_t size)
{
    for (size_t at = 0; shmemi_is_nvshmem() && text[at] != '\0'; at++) {
        if (at > 0 && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_'))
            continue;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t n = strlen(words[i].before), rest = strlen(text + at) + 1;
            if (strncmp(text + at, words[i].prefix, strlen(words[i].prefix)) != 0 ||
                at + rest + n > size)
                continue;
            memmove(text + at + n, text + at, rest);
            memcpy(text + at, words[i].before, n);
            at += n;
            break;
        }
    }
}
