/*
 * bypassing.c: SHMEM calls that bypass the shim.
 *
 * If an object refers to a SHMEM function that the shim does not define, the call bypasses the
 * shim: a second name (pshmem_put), or an extension of another library. The undefined symbols of
 * all objects name such functions. A program with kernels refers to shmemi_device_register, so its
 * kernels may make calls that the shim does not see.
 */
#define _GNU_SOURCE
#include "bypassing.h"

#include "head.h"
#include "lookup.h"
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports whether a text begins with another. */
static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Reports whether a name is that of a SHMEM function. The names that libraries use among
 * themselves, such as shmemi_, do not count. */
static bool is_shmem_name(const char *name)
{
    return begins(name, "shmem_") || begins(name, "shmemx_") || begins(name, "nvshmem_") ||
           begins(name, "nvshmemx_") || begins(name, "pshmem_") || begins(name, "pshmemx_");
}

/* Lists in the head of the trace the SHMEM functions that loaded objects import and that the shim
 * does not define: calls of them bypass the shim. SHMEM libraries themselves are not searched. */
void preload_bypassing_start(void)
{
    struct link_map *map = NULL;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (!program || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0)
        return;
    for (; map; map = map->l_next) {
        struct preload_symbols o = preload_symbols_read(map->l_addr, map->l_ld);
        if (preload_is_library(map->l_name) || !o.symbols ||
            begins(map->l_name, "linux-vdso")) /* the addresses in its tables are not relocated */
            continue;
        size_t n = preload_symbols_used(&o);
        for (size_t i = 1; i < n; i++) {
            const char *name = o.strings + o.symbols[i].st_name;
            if (o.symbols[i].st_shndx == SHN_UNDEF && strcmp(name, "shmemi_device_register") == 0)
                preload_head_bypassing("calls within kernels");
            if (o.symbols[i].st_shndx == SHN_UNDEF && is_shmem_name(name) &&
                preload_number(name) < 0 && ELF64_ST_TYPE(o.symbols[i].st_info) != STT_OBJECT)
                preload_head_bypassing(name);
        }
    }
    dlclose(program);
}
