/*
 * symbols.c: hides /proc/kallsyms from libfabric while its providers start.
 *
 * The provider verbs reads the file twice to learn whether its NICs can reach memory of GPUs, even
 * if there is no such NIC: 60 ms of a processor each time. No variable and no hint of libfabric
 * prevents it, because the provider reads before libfabric applies either (docs/decisions/0055).
 * So libfabric's import of fopen is replaced for the duration of the call that starts the
 * providers. Imports of other libraries stay as they are.
 */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef FILE *(*opener)(const char *, const char *);

static opener real_fopen;

/* Replaces fopen for libfabric's library while the kernel's symbol table is hidden from it: returns
 * NULL for /proc/kallsyms, as if there were none, and opens any other file. */
static FILE *fopen_without_symbols(const char *file, const char *mode)
{
    if (strcmp(file, "/proc/kallsyms") == 0) {
        errno = ENOENT;
        return NULL;
    }
    return real_fopen(file, mode);
}

/* Returns the dynamic loader's entry of a library (struct link_map), or NULL. */
static struct link_map *map_of(void *library)
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

/* Returns the address that a dynamic entry stands for. The entry has an offset in the library,
 * which some loaders replace by the address. */
static const void *at(const struct link_map *map, ElfW(Addr) where)
{
    return (const void *)(where < map->l_addr ? where + map->l_addr : where);
}

/* Returns the address of the pointer in a library's import table (DT_JMPREL) through which it calls
 * fopen, or NULL. */
void **shmemi_ofi_import(void *library)
{
    const struct link_map *map = map_of(library);
    const char *names = NULL;
    const ElfW(Sym) *symbols = NULL;
    const ElfW(Rela) *imports = NULL;
    size_t bytes = 0;
    ElfW(Sxword) kind = 0;
    if (map == NULL || sizeof(void *) != 8)
        return NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_STRTAB:
            names = at(map, d->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            symbols = at(map, d->d_un.d_ptr);
            break;
        case DT_JMPREL:
            imports = at(map, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            bytes = d->d_un.d_val;
            break;
        case DT_PLTREL:
            kind = (ElfW(Sxword))d->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (names == NULL || symbols == NULL || imports == NULL || kind != DT_RELA)
        return NULL;
    for (size_t i = 0; i < bytes / sizeof *imports; i++) {
        const char *name = names + symbols[ELF64_R_SYM(imports[i].r_info)].st_name;
        if (strcmp(name, "fopen") == 0 || strcmp(name, "fopen64") == 0)
            return (void **)(map->l_addr + imports[i].r_offset);
    }
    return NULL;
}

/* For find_protection: the library and the address of a pointer in it. */
struct search {
    const struct link_map *map;
    uintptr_t slot;
    int protected;
};

/* Callback of dl_iterate_phdr: finds out whether the loader has made the pointer in s read-only
 * after it had filled it in (PT_GNU_RELRO). Returns 1 at the library, so that the search ends. */
static int find_protection(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    (void)size;
    if (info->dlpi_addr != s->map->l_addr || strcmp(info->dlpi_name, s->map->l_name) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO && s->slot >= from &&
            s->slot < from + info->dlpi_phdr[i].p_memsz)
            s->protected = 1;
    }
    return 1;
}

/* Stores value in a pointer of a library. If the loader has made the pointer's page read-only, the
 * page is made writable for that moment. Returns 0, or -1 where the kernel does not allow it. */
static int set_pointer(void *library, void **slot, void *value)
{
    const uintptr_t page = (uintptr_t)slot & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    const size_t len = (size_t)sysconf(_SC_PAGESIZE);
    struct search s = {.map = map_of(library), .slot = (uintptr_t)slot};
    if (s.map == NULL || dl_iterate_phdr(find_protection, &s) == 0)
        return -1;
    if (s.protected && mprotect((void *)page, len, PROT_READ | PROT_WRITE) != 0)
        return -1;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (s.protected)
        mprotect((void *)page, len, PROT_READ);
    return 0;
}

/* Makes the library call fopen_without_symbols in place of fopen. Returns the address of the
 * changed pointer, which is to be restored, or NULL. */
void **shmemi_ofi_hide_symbols(void *library)
{
    void **slot = shmemi_ofi_import(library);
    if (slot == NULL)
        return NULL;
    *(void **)&real_fopen = *slot;
    return set_pointer(library, slot, (void *)(uintptr_t)fopen_without_symbols) == 0 ? slot : NULL;
}

/* Puts the pointer to fopen back that shmemi_ofi_hide_symbols has replaced. */
void shmemi_ofi_show_symbols(void *library, void **import)
{
    if (import != NULL)
        set_pointer(library, import, *(void **)&real_fopen);
}
