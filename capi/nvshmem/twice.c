/*
 * twice.c: two libraries of NVIDIA's soname in the process, of which one is forward.S. Linked and
 * preloaded libraries of a soname are loaded once, but one that is opened by its path is loaded
 * beside them. Then some calls of a program that was linked with that soname may come to this
 * library, and others not. Programs that were linked with this library's own soname are not
 * affected, and NVIDIA's library may be in the process for others, such as torch.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

static const char old_name[] = "libnvshmem_host.so.3", own_name[] = "libshmem_nvshmem.so";

struct search {
    const char *own_file, *other_file;
};

/* Whether a library has the old soname, and whether it needs this one. */
static void ask(const struct dl_phdr_info *info, bool *old, bool *needs)
{
    *old = *needs = false;
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
        /* The loader has written the address, or has left the one in the file. */
        if (strings < info->dlpi_addr)
            strings += info->dlpi_addr;
        for (const ElfW(Dyn) *d = all; d->d_tag != DT_NULL; d++) {
            const char *text = (const char *)strings + d->d_un.d_val;
            if (d->d_tag == DT_SONAME)
                *old = strcmp(text, old_name) == 0;
            else if (d->d_tag == DT_NEEDED && strcmp(text, own_name) == 0)
                *needs = true;
        }
    }
}

static int inspect(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    bool old, needs;
    (void)size;
    ask(info, &old, &needs);
    if (old && needs)
        s->own_file = info->dlpi_name;
    else if (old)
        s->other_file = info->dlpi_name;
    return 0;
}

void nvshmemi_warn_of_another(const char *call)
{
    struct search s = {0};
    /* libshmem_preload.so gives this library all calls of the program. */
    const int *redirects = dlsym(RTLD_DEFAULT, "shmem_preload_redirects");
    if (redirects != NULL && *redirects != 0)
        return;
    dl_iterate_phdr(inspect, &s);
    if (s.other_file == NULL || s.own_file == NULL)
        return;
    fprintf(stderr,
            "shmem: %s: two libraries %s are loaded: %s, which leads to this one, and %s (preload "
            "the first one, or link the program with libshmem's libnvshmem_host.so again)\n",
            call, old_name, s.own_file, s.other_file);
}
