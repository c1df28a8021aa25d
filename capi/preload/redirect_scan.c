/*
 * redirect_scan.c: finds the library that the program was linked with, and the names that the
 * program imports from it and that the shim does not define.
 *
 * A call by such a name would reach the other library, which was not initialised: a function of
 * Fortran, a profiling name, device code, an extension. The loader binds such names whether they
 * are called or not, so a program with one is refused as a whole, before it has done anything.
 */
#define _GNU_SOURCE
#include "redirect.h"

#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports whether the file of a path has this name, or this name and a version: liboshmem.so.40. */
static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return strncmp(base, name, n) == 0 && (base[n] == '\0' || base[n] == '.');
}

/* ------------------------------------------------------- the other library */

/* The library that the program was linked with. */
struct loaded_library {
    char path[4096]; /* "": none is loaded */
    uintptr_t base;
};

/* Callback of dl_iterate_phdr: stores the first loaded liboshmem.so in *arg, and stops there (a
 * result other than 0). */
static int find_by_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loaded_library *b = arg;
    (void)size;
    if (!is_named(info->dlpi_name, "liboshmem.so"))
        return 0;
    snprintf(b->path, sizeof b->path, "%s", info->dlpi_name);
    b->base = info->dlpi_addr;
    return 1;
}

/* Returns the library to which the program's calls would go without the shim: the one whose
 * shmem_init the loader would bind, or else one that was opened later. Its path is "" if there is
 * none. */
static struct loaded_library find_other_library(void)
{
    struct loaded_library b = {"", 0};
    void *init = dlsym(RTLD_NEXT, "shmem_init");
    Dl_info at;
    if (init && !preload_own(init) && dladdr(init, &at)) {
        snprintf(b.path, sizeof b.path, "%s", at.dli_fname);
        b.base = (uintptr_t)at.dli_fbase;
    } else {
        dl_iterate_phdr(find_by_name, &b);
    }
    return b;
}

/* Reports whether the library itself defines a name, and not a library that it depends on. */
static bool defines_name(void *library, uintptr_t base, const char *name)
{
    Dl_info at;
    void *found = dlsym(library, name);
    return found && dladdr(found, &at) && (uintptr_t)at.dli_fbase == base;
}

/* Returns the table of the library that the program was linked with; NULL for libshmem or none. */
const struct redirect_library *redirect_other_library(void)
{
    struct loaded_library b = find_other_library();
    if (!*b.path)
        return NULL;
    void *library = dlopen(b.path, RTLD_LAZY | RTLD_NOLOAD);
    /* libshmem is recognised by a function that only it has: another project may have a
     * libshmem.so.
     */
    bool ours = library && defines_name(library, b.base, "shmemx_wait_limit");
    bool teams = library && defines_name(library, b.base, "oshmem_team_world");
    if (library)
        dlclose(library);
    if (ours)
        return NULL;
    if (!is_named(b.path, "liboshmem.so"))
        redirect_refuse("shmem_init",
                        "%s is no library whose handles and constants are known (redirect knows "
                        "those of Open MPI 4 and 5 and of libshmem: compile the program with "
                        "libshmem's oshcc)",
                        b.path);
    return teams ? &redirect_openmpi_5 : &redirect_openmpi_4;
}

/* ------------------------------------------------- names that are not redirected */

/* A search for names that the program imports from the other library. */
struct scan {
    const struct redirect_library *other;
    void *library;
    uintptr_t base;
    char names[256]; /* some of the names that were found */
    int n;
};

/* Counts a name, and stores the first four for the message. */
static void add_name(struct scan *s, const char *name)
{
    size_t at = strlen(s->names);
    if (s->n++ < 4)
        snprintf(s->names + at, sizeof s->names - at, "%s%s", at ? ", " : "", name);
}

/* Adds an imported function if the loader binds it to the other library. */
static void check_function(struct scan *s, const char *name)
{
    Dl_info at;
    if (!defines_name(s->library, s->base, name))
        return;
    void *bound = dlsym(RTLD_DEFAULT, name);
    if (bound && dladdr(bound, &at) && (uintptr_t)at.dli_fbase == s->base)
        add_name(s, name);
}

/* Adds an imported variable of the other library, unless the shim sets it. */
static void check_variable(struct scan *s, const char *name)
{
    for (const struct redirect_symbol *k = s->other->symbols; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return;
    if (defines_name(s->library, s->base, name))
        add_name(s, name);
}

/* Checks the names that one loaded object imports: its undefined symbols, and the variables that
 * its copy relocations name. */
static void scan_object(struct scan *s, const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
    struct preload_symbols o = preload_symbols_read(info->dlpi_addr, dynamic);
    if (!o.symbols)
        return;
    size_t n = preload_symbols_used(&o);
    for (size_t i = 1; i < n; i++)
        if (o.symbols[i].st_shndx == SHN_UNDEF && o.symbols[i].st_name)
            check_function(s, o.strings + o.symbols[i].st_name);
    /* A copy relocation names a variable of a library that the program itself refers to. */
    const ElfW(Rela) *relocations = o.relocations[0].first;
    for (size_t i = 0; relocations && i < o.relocations[0].n; i++)
        if (ELF64_R_TYPE(relocations[i].r_info) == R_X86_64_COPY)
            check_variable(s, o.strings + o.symbols[ELF64_R_SYM(relocations[i].r_info)].st_name);
}

/* Callback of dl_iterate_phdr: checks the imports of each object except the other library itself.
 * Returns 0, so that all are passed. */
static int scan_callback(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct scan *s = arg;
    (void)size;
    if (info->dlpi_addr == s->base) /* the library itself */
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            scan_object(s, info, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
    return 0;
}

/* Ends the process if the program imports a name of the other library that the shim lacks. */
void redirect_refuse_names(const struct redirect_library *other, const char *call)
{
    struct loaded_library b = find_other_library();
    struct scan s = {.other = other, .base = b.base};
    s.library = dlopen(b.path, RTLD_LAZY | RTLD_NOLOAD);
    if (!s.library)
        return;
    dl_iterate_phdr(scan_callback, &s);
    dlclose(s.library);
    if (s.n > 0)
        redirect_refuse(call,
                        "the program takes %s%s from %s, and libshmem has no such names "
                        "(compile the program with libshmem's oshcc, or leave the call out)",
                        s.names, s.n > 4 ? " and others" : "", b.path);
}
