/*
 * program.c: which part of the program's data can be symmetric.
 *
 * This is the content of its writable segments after the part that the dynamic linker protects once
 * it has relocated the program (RELRO), without the table of functions (.got.plt), to which the
 * linker writes later. Globals of shared libraries are not symmetric, as the specification says,
 * and thread-local variables are in other memory.
 */
#define _GNU_SOURCE
#include "program.h"

#include "maps.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE ((uintptr_t)SHMEMI_PAGE)
/* Two remedies. */
#define LINK "link the program with -lshmem, or pass memory from shmem_malloc"
#define HEAP "pass memory from shmem_malloc"

/* Addresses within a segment that must not be symmetric. */
struct hole {
    uintptr_t from, to;
};

/* What a search of the program's ELF headers has found so far. */
struct finder {
    struct shmemi_program *p;
    uintptr_t bias;        /* the load address, which addresses in the headers lack */
    uintptr_t headers;     /* the address of the program headers */
    struct hole protected; /* RELRO, which is at the begin of a segment */
    struct hole holes[2];  /* .got.plt and the dynamic section */
    bool is_linked;        /* the program was linked with this library */
};

/* Records that none of the program's globals and statics can be symmetric, and why. A later error
 * about an address of a static prints the cause and the remedy. */
static void decline_statics(struct shmemi_program *p, const char *cause, const char *remedy)
{
    p->cause = cause;
    p->remedy = remedy;
    p->n_spans = p->n_ranges = 0;
    p->size = 0;
}

/* Reports whether a DT_NEEDED name is this library's. It may have been installed under a name with
 * a version. */
static bool is_this_library(const char *needed)
{
    static const char name[] = "libshmem.so";
    const char *slash = strrchr(needed, '/');
    const char *base = slash ? slash + 1 : needed;
    size_t n = sizeof name - 1;
    return strncmp(base, name, n) == 0 && (base[n] == '\0' || base[n] == '.');
}

/* Reports whether the program was linked with another library, whose calls libshmem_preload.so
 * redirects to this library (capi/preload/mode_redirect.c). */
static bool is_redirected(void)
{
    const int *redirects = dlsym(RTLD_DEFAULT, "shmem_preload_redirects");
    return redirects != NULL && *redirects != 0;
}

/* Reads the dynamic section: whether the program needs this library, and where the linker
 * writes. */
static void read_dynamic(struct finder *f, const ElfW(Phdr) * h)
{
    const ElfW(Dyn) *all = (const ElfW(Dyn) *)(f->bias + h->p_vaddr);
    uintptr_t names = 0, got = 0;
    size_t slots = 0;
    for (const ElfW(Dyn) *d = all; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            names = d->d_un.d_ptr;
        else if (d->d_tag == DT_PLTGOT)
            got = d->d_un.d_ptr;
        else if (d->d_tag == DT_PLTRELSZ)
            slots = d->d_un.d_val / sizeof(ElfW(Rela));
    }
    /* glibc has added the load address to these entries in place, if the section is writable. */
    if (names < f->bias)
        names += f->bias;
    if (got != 0 && got < f->bias)
        got += f->bias;
    for (const ElfW(Dyn) *d = all; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && is_this_library((const char *)names + d->d_un.d_val))
            f->is_linked = true;
    if (got != 0) /* three words for the dynamic linker, and one for each function */
        f->holes[0] = (struct hole){got, got + (3 + slots) * sizeof(uintptr_t)};
    f->holes[1] = (struct hole){(uintptr_t)all, (uintptr_t)all + h->p_memsz};
}

/* Appends the build ID, if the note segment h has it, to p->like: the text by which PEs compare
 * whether they run the same program. */
static void read_build_id(struct finder *f, const ElfW(Phdr) * h)
{
    struct shmemi_program *p = f->p;
    const char *at = (const char *)(f->bias + h->p_vaddr), *end = at + h->p_memsz;
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(const void *)at;
        const char *name = at + sizeof *n; /* name and description are padded to 4 bytes */
        const char *desc = name + (n->n_namesz + 3u) / 4 * 4;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            for (uint32_t i = 0; i < n->n_descsz; i++) {
                size_t used = strlen(p->like);
                snprintf(p->like + used, sizeof p->like - used, "%02x", (unsigned char)desc[i]);
            }
        at = desc + (n->n_descsz + 3u) / 4 * 4;
    }
}

/* Adds the addresses between from and to, in span s, to the data that can be symmetric. */
static void add_range(struct shmemi_program *p, const struct shmemi_span *s, uintptr_t from,
                      uintptr_t to)
{
    if (from >= to)
        return;
    if (p->n_ranges == SHMEMI_STATICS) {
        decline_statics(p, "the program's data are in more pieces than the library supports", HEAP);
        return;
    }
    p->ranges[p->n_ranges++] =
        (struct shmemi_static){from, to - from, (int64_t)(s->at + (from - s->start))};
}

/* Adds a writable segment: its pages as a span, and its addresses except the holes as ranges. Its
 * address and size also go into p->like, even if it cannot be symmetric. */
static void add_segment(struct finder *f, const ElfW(Phdr) * h)
{
    struct shmemi_program *p = f->p;
    uintptr_t from = f->bias + h->p_vaddr, to = from + h->p_memsz, filled = from + h->p_filesz;
    size_t used = strlen(p->like);
    snprintf(p->like + used, sizeof p->like - used, "%#zx+%#zx ", (size_t)h->p_vaddr,
             (size_t)h->p_memsz);
    if (f->protected.from < to && f->protected.to > from)
        from = f->protected.to;
    if (p->cause != NULL || from >= to)
        return;
    if (p->n_spans == SHMEMI_STATICS || h->p_flags & PF_X) {
        decline_statics(p, "the program's data are in segments that the library does not support",
                        HEAP);
        return;
    }
    struct shmemi_span *s = &p->spans[p->n_spans];
    s->start = from & -PAGE;
    s->size = ((to + PAGE - 1) & -PAGE) - s->start;
    s->filled = filled > s->start ? ((filled + PAGE - 1) & -PAGE) - s->start : 0;
    s->at = p->size;
    p->n_spans++;
    p->size += s->size;
    for (;;) { /* each iteration adds the addresses up to the next hole */
        struct hole next = {to, to};
        for (int i = 0; i < 2; i++)
            if (f->holes[i].to > from && f->holes[i].from < next.from)
                next = f->holes[i];
        add_range(p, s, from, next.from);
        if (next.from >= to)
            return;
        from = next.to;
    }
}

/* Callback of dl_iterate_phdr, which passes the program first: reads all headers of the program,
 * and stops (a result other than 0). */
static int read_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct finder *f = arg;
    (void)size;
    f->bias = info->dlpi_addr;
    f->headers = (uintptr_t)info->dlpi_phdr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t at = f->bias + h->p_vaddr;
        if (h->p_type == PT_DYNAMIC)
            read_dynamic(f, h);
        else if (h->p_type == PT_GNU_RELRO)
            f->protected = (struct hole){at, at + h->p_memsz};
        else if (h->p_type == PT_NOTE)
            read_build_id(f, h);
    }
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
            add_segment(f, &info->dlpi_phdr[i]);
    return 1;
}

/* Returns the start of the allocator's heap (brk), from field 47 of /proc/self/stat; 0 if it is not
 * known. Older kernels that do not randomise addresses put it into the page in which .bss ends.
 * Then malloc uses memory in the last page of the statics. */
static uintptr_t heap_start(void)
{
    char text[2048];
    uintptr_t at = 0;
    FILE *stat = fopen("/proc/self/stat", "re");
    if (stat == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, stat);
    fclose(stat);
    text[n] = '\0';
    /* The second field, a name in parentheses, may contain any characters. */
    const char *field = strrchr(text, ')');
    for (int number = 2; field != NULL && number < 47; number++) {
        field = strchr(field, ' ');
        field = field ? field + 1 : NULL;
    }
    if (field == NULL || sscanf(field, "%" SCNuPTR, &at) != 1)
        return 0;
    return at;
}

/* Records that no static can be symmetric if the mappings of the spans are no longer as the linker
 * made them: the program may have protected a part of the data, made it executable, or mapped other
 * memory there. */
static void check_mappings(struct finder *f)
{
    struct shmemi_program *p = f->p;
    struct shmemi_maps maps;
    if (!shmemi_maps_open(&maps)) {
        decline_statics(p, "/proc/self/maps cannot be read", HEAP);
        return;
    }
    uintptr_t covered[SHMEMI_STATICS] = {0};
    unsigned long program_inode = 0;
    struct shmemi_mapping m;
    while (shmemi_maps_next(&maps, &m)) {
        if (f->headers >= m.from && f->headers < m.to)
            program_inode = m.inode;
        for (uint32_t i = 0; i < p->n_spans; i++) {
            const struct shmemi_span *s = &p->spans[i];
            uintptr_t end = s->start + s->size;
            if (m.to <= s->start || m.from >= end)
                continue;
            if (strcmp(m.access, "rw-p") == 0 && (m.inode == 0 || m.inode == program_inode))
                covered[i] += (m.to < end ? m.to : end) - (m.from > s->start ? m.from : s->start);
        }
    }
    shmemi_maps_close(&maps);
    uintptr_t heap = heap_start();
    for (uint32_t i = 0; i < p->n_spans; i++)
        p->heap_inside |= heap == 0 || heap - p->spans[i].start < p->spans[i].size;
    for (uint32_t i = 0; i < p->n_spans; i++)
        if (covered[i] != p->spans[i].size) {
            decline_statics(p, "the program's data are not mapped as they were linked", HEAP);
            return;
        }
}

/* Reports whether the stack is in one of the spans of the program's data, by the address of this
 * function's frame. */
bool shmemi_program_on_spans(const struct shmemi_program *p)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    for (uint32_t i = 0; i < p->n_spans; i++)
        if (frame - p->spans[i].start < p->spans[i].size)
            return true;
    return false;
}

/* Reports whether this process has only one thread, by /proc/self/task. Then no store can be lost
 * while its statics move. */
static bool one_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    if (tasks == NULL)
        return false;
    for (const struct dirent *e; (e = readdir(tasks)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(tasks);
    return n == 1;
}

/* Finds the program's data that can be symmetric in its ELF headers. If the data cannot be moved to
 * shared memory, records why. */
void shmemi_program_find(struct shmemi_program *p, bool moved)
{
    struct finder f = {.p = p};
    *p = (struct shmemi_program){0};
    dl_iterate_phdr(read_object, &f);
    if (!f.is_linked && !is_redirected())
        decline_statics(p, "the program itself does not need libshmem.so", LINK);
    else if (p->cause == NULL && p->n_ranges == 0)
        decline_statics(p, "the program has none", HEAP);
    else if (p->cause == NULL && shmemi_program_on_spans(p))
        decline_statics(p, "shmem_init was called on a stack in one of them", HEAP);
    else if (p->cause == NULL && !moved)
        check_mappings(&f);
    p->alone = one_thread();
}

/* An address, and whether it is in a writable segment of the program. */
struct lookup {
    uintptr_t at;
    bool inside;
};

/* Callback of dl_iterate_phdr, which passes the program first: sets inside if the address of the
 * struct lookup is in one of the program's writable segments, and stops (a result other than 0). */
static int find_segment(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct lookup *q = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && h->p_flags & PF_W &&
            q->at - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
            q->inside = true;
    }
    return 1;
}

/* Reports whether an address is in a writable segment of the program: in one of its globals or
 * statics. */
bool shmemi_program_contains(const void *addr)
{
    struct lookup q = {.at = (uintptr_t)addr};
    dl_iterate_phdr(find_segment, &q);
    return q.inside;
}
