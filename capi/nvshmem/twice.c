/*
 * twice.c: warns if two libraries with NVIDIA's soname are in the process, this project's and
 * another. The loader loads a soname once for all linked and preloaded libraries, but one that a
 * program opens by its path is loaded beside it. Then some calls of a program that was linked with
 * that soname may reach this library, and others not. A program that was linked with this library's
 * own soname is not affected: there NVIDIA's library may serve others, such as torch. Nor is one
 * that loads this library first, so that torch, which opens NVIDIA's by its path, is bound to it.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

static const char nvidia_soname[] = "libnvshmem_host.so.3", own_name[] = "libshmem_nvshmem.so";

/* The loaded libraries with NVIDIA's soname. */
struct search {
    const char *own_file;   /* this project's, which depends on this library; NULL: none */
    const char *other_file; /* another; NULL: none */
    bool own_first;         /* this project's was loaded before the other */
    bool linked;            /* the program itself was linked with the soname */
    bool started;           /* inspect has seen the program, which is the first object */
};

/* Reads from a loaded object whether it has NVIDIA's soname, and whether it was linked with this
 * library (needs_this) or with a library of that soname. */
static void read_names(const struct dl_phdr_info *info, bool *has_soname, bool *needs_this,
                       bool *needs_soname)
{
    *has_soname = *needs_this = *needs_soname = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *all = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        ElfW(Addr) strings = 0;
        for (const ElfW(Dyn) *d = all; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_STRTAB)
                strings = d->d_un.d_ptr;
        if (strings == 0)
            return;
        /* An address below the base is one in the file, which the loader has not relocated. */
        if (strings < info->dlpi_addr)
            strings += info->dlpi_addr;
        for (const ElfW(Dyn) *d = all; d->d_tag != DT_NULL; d++) {
            const char *text = (const char *)strings + d->d_un.d_val;
            if (d->d_tag == DT_SONAME)
                *has_soname = strcmp(text, nvidia_soname) == 0;
            else if (d->d_tag == DT_NEEDED && strcmp(text, own_name) == 0)
                *needs_this = true;
            else if (d->d_tag == DT_NEEDED && strcmp(text, nvidia_soname) == 0)
                *needs_soname = true;
        }
    }
}

/* dl_iterate_phdr callback: records the file of each loaded object with NVIDIA's soname in the
 * struct search, by whether it depends on this library. Objects come in the order in which they
 * were loaded. Returns 0: the iteration goes on. */
static int inspect(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    bool has_soname, needs_this, needs_soname;
    (void)size;
    read_names(info, &has_soname, &needs_this, &needs_soname);
    if (!s->started) /* the program is the first object */
        s->linked = needs_soname;
    s->started = true;
    if (has_soname && needs_this) {
        s->own_file = info->dlpi_name;
        s->own_first = s->other_file == NULL;
    } else if (has_soname)
        s->other_file = info->dlpi_name;
    return 0;
}

/* Reports whether the process has this project's library with NVIDIA's soname, by which programs
 * find it that were built with NVIDIA's. */
bool nvshmemi_has_host_library(void)
{
    struct search s = {0};
    dl_iterate_phdr(inspect, &s);
    return s.own_file != NULL;
}

/* Returns the address of a variable of this project's library with NVIDIA's soname; NULL if there
 * is none. */
void *nvshmemi_host_variable(const char *name)
{
    struct search s = {0};
    dl_iterate_phdr(inspect, &s);
    void *library = s.own_file == NULL ? NULL : dlopen(s.own_file, RTLD_LAZY | RTLD_NOLOAD);
    void *at = library == NULL ? NULL : dlsym(library, name);
    if (library != NULL)
        dlclose(library);
    return at;
}

/* Prints a warning if the process has this project's and another library with NVIDIA's soname. */
void nvshmemi_warn_of_another(const char *call)
{
    struct search s = {0};
    /* With its mode redirect, libshmem_preload.so passes all calls of the program to this library.
     */
    const int *redirects = dlsym(RTLD_DEFAULT, "shmem_preload_redirects");
    if (redirects != NULL && *redirects != 0)
        return;
    dl_iterate_phdr(inspect, &s);
    if (s.other_file == NULL || s.own_file == NULL)
        return;
    /* This project's was preloaded, or loaded first on purpose: searches for the soname find it. */
    if (s.own_first && !s.linked)
        return;
    fprintf(stderr,
            "shmem: %s: two libraries %s are loaded: %s, which leads to this one, and %s (preload "
            "the first one, or link the program with libshmem's libnvshmem_host.so again)\n",
            call, nvidia_soname, s.own_file, s.other_file);
}
