/*
 * twice.c: another library of this one's soname in the process. Linked and preloaded libraries of a
 * soname are loaded once, but one that is opened by its path is loaded beside them. Then some calls
 * of the program may come to this library, and others not.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct search {
    const char *own_file, *other_file;
};

/* The soname of a library, or NULL. */
static const char *soname(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        ElfW(Addr) strings = 0;
        ElfW(Xword) name = 0;
        for (; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_STRTAB)
                strings = d->d_un.d_ptr;
            if (d->d_tag == DT_SONAME)
                name = d->d_un.d_val;
        }
        /* The loader has written the address, or has left the one in the file. */
        if (strings != 0 && strings < info->dlpi_addr)
            strings += info->dlpi_addr;
        return strings == 0 || name == 0 ? NULL : (const char *)strings + name;
    }
    return NULL;
}

static bool within(const struct dl_phdr_info *info, const void *at)
{
    uintptr_t p = (uintptr_t)at;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && p >= start && p - start < h->p_memsz)
            return true;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    const char *name = soname(info);
    (void)size;
    if (within(info, (const void *)(uintptr_t)look)) {
        s->own_file = info->dlpi_name;
    } else if (name != NULL && strcmp(name, "libnvshmem_host.so.3") == 0) {
        s->other_file = info->dlpi_name;
    }
    return 0;
}

void nvshmemi_warn_of_another(const char *call)
{
    struct search s = {0};
    /* libshmem_preload.so gives this library all calls of the program. */
    const int *redirects = dlsym(RTLD_DEFAULT, "shmem_preload_redirects");
    if (redirects != NULL && *redirects != 0)
        return;
    dl_iterate_phdr(look, &s);
    if (s.other_file == NULL || s.own_file == NULL)
        return;
    fprintf(
        stderr,
        "shmem: %s: two libraries libnvshmem_host.so.3 are loaded: %s, which this call has come "
        "to, and %s (preload the first one, or have nothing load the other)\n",
        call, s.own_file, s.other_file);
}
