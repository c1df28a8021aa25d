/*
 * symbols.c: the names that a loaded object imports.
 */
#define _GNU_SOURCE
#include "symbols.h"

#include <elf.h>

/* Returns where a table is in memory, from its address in the dynamic section. The loader has added
 * the base to most of these addresses, but not to those in a read-only segment. */
static uintptr_t loaded_at(uintptr_t base, uintptr_t address)
{
    return address < base ? base + address : address;
}

struct preload_symbols preload_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic)
{
    struct preload_symbols o = {0};
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = loaded_at(base, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB:
            o.symbols = (const ElfW(Sym) *)at;
            break;
        case DT_STRTAB:
            o.strings = (const char *)at;
            break;
        case DT_RELA:
            o.relocations[0].first = (const ElfW(Rela) *)at;
            break;
        case DT_RELASZ:
            o.relocations[0].n = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            o.relocations[1].first = (const ElfW(Rela) *)at;
            break;
        case DT_PLTRELSZ:
            o.relocations[1].n = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        }
    }
    if (o.strings == NULL)
        o.symbols = NULL;
    return o;
}

/*
 * The last symbol that a relocation names is the last that counts: what the loader does not bind is
 * not called. The hash tables do not say it. A GNU hash table names the first symbol that it
 * covers, but that is 1 where it covers none, and it covers imported functions whose address the
 * program uses as that of its own.
 */
size_t preload_symbols_used(const struct preload_symbols *o)
{
    size_t last = 0;
    for (int table = 0; table < 2; table++)
        for (size_t i = 0; o->relocations[table].first && i < o->relocations[table].n; i++) {
            size_t symbol = ELF64_R_SYM(o->relocations[table].first[i].r_info);
            last = symbol > last ? symbol : last;
        }
    return last + 1;
}
