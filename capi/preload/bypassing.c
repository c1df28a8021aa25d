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

/* The tables that the dynamic section of a loaded object names. */
struct object {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
};

/* Returns where a table is in memory, from its address in the dynamic section. The loader has added
 * the base to most of these addresses, but not to those in a read-only segment. */
static uintptr_t loaded_at(const struct link_map *map, ElfW(Addr) address)
{
    return address < map->l_addr ? map->l_addr + address : address;
}

/* Returns where the tables of symbols, strings and hashes of a loaded object are, from its dynamic
 * section; NULL for a table that the object does not have. */
static struct object read_object(const struct link_map *map)
{
    struct object o = {0};
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = loaded_at(map, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB:
            o.symbols = (const ElfW(Sym) *)at;
            break;
        case DT_STRTAB:
            o.strings = (const char *)at;
            break;
        case DT_HASH:
            o.hash = (const uint32_t *)at;
            break;
        case DT_GNU_HASH:
            o.gnu_hash = (const uint32_t *)at;
            break;
        }
    }
    return o;
}

/* Returns how many symbols of an object, from the first on, have to be searched for undefined ones.
 * Symbol 0 is never one. A GNU hash table
 * covers only the defined symbols, which come last: its second word is the index of the first.
 * Without one, the old hash table has the number of all. */
static uint32_t count_symbols(const struct object *o)
{
    return o->gnu_hash ? o->gnu_hash[1] : o->hash ? o->hash[1] : 0;
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
        struct object o = read_object(map);
        if (preload_is_library(map->l_name) || !o.symbols || !o.strings ||
            begins(map->l_name, "linux-vdso")) /* the addresses in its tables are not relocated */
            continue;
        uint32_t n = count_symbols(&o);
        for (uint32_t i = 1; i < n; i++) {
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
