/* symbols.h: the names that a loaded object imports. */
#ifndef PRELOAD_SYMBOLS_H
#define PRELOAD_SYMBOLS_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The tables that the dynamic section of a loaded object names. */
struct preload_symbols {
    const ElfW(Sym) * symbols; /* NULL: the object has none */
    const char *strings;
    struct {
        const ElfW(Rela) * first;
        size_t n;
    } relocations[2]; /* those of the loader, and those of calls of functions */
};

/* Returns the tables of the object that is loaded at `base`, from its dynamic section, which may be
 * NULL. */
struct preload_symbols preload_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic);

/* Returns how many symbols of an object, from the first on, have to be searched for names that it
 * imports. Symbol 0 is none. */
size_t preload_symbols_used(const struct preload_symbols *o);

#endif
