/*
 * symbol.c: the name of a global or static of the program, from the symbol table of its file.
 *
 * Only reports and error messages use it. The dynamic linker has only the names that a program
 * exports, which are few, so this reads the file itself. A stripped program has no names left.
 */
#define _GNU_SOURCE
#include "symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program's file, mapped when a name is first looked up, and never unmapped. */
static struct {
    const char *bytes; /* NULL: it cannot be read */
    size_t size;
    uintptr_t bias; /* the load address: what addresses in memory have in excess */
} image;

static pthread_once_t opened = PTHREAD_ONCE_INIT;         /* open_image has run */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the cached names */

/* Callback of dl_iterate_phdr, which passes the program first: records the difference between the
 * program's addresses in memory and in its file, and stops. */
static int note_bias(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    image.bias = info->dlpi_addr;
    return 1;
}

/* Maps the program's file into memory, to read its symbol table. If that fails, image stays empty,
 * and no address gets a name. */
static void open_image(void)
{
    struct stat s;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &s) == 0 && s.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        void *at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (at != MAP_FAILED) {
            image.bytes = at;
            image.size = (size_t)s.st_size;
        }
    }
    close(file);
    dl_iterate_phdr(note_bias, NULL);
}

/* Returns the n bytes at an offset of the program's file; NULL if the file is too short, or the
 * offset is not aligned. The offset was read from the file, which may be damaged. */
static const void *file_part(uint64_t at, uint64_t n)
{
    if (at > image.size || n > image.size - at || at % sizeof(uint64_t) != 0)
        return NULL;
    return image.bytes + at;
}

/* Returns the first section header of a type whose sh_link, the section of its names, exists; NULL
 * if there is none. */
static const ElfW(Shdr) * section(const ElfW(Ehdr) * head, uint32_t type)
{
    if (head->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    const ElfW(Shdr) *all = file_part(head->e_shoff, (uint64_t)head->e_shnum * sizeof *all);
    for (int i = 0; all != NULL && i < head->e_shnum; i++)
        if (all[i].sh_type == type && all[i].sh_link < head->e_shnum)
            return &all[i];
    return NULL;
}

/* Searches a symbol table for the object that contains an address, and writes its name. Returns
 * false if there is none. */
static bool search_table(const ElfW(Ehdr) * head, const ElfW(Shdr) * table, uintptr_t addr,
                         char *text, size_t size)
{
    const ElfW(Shdr) *names = (const ElfW(Shdr) *)(image.bytes + head->e_shoff) + table->sh_link;
    const ElfW(Sym) *symbols = file_part(table->sh_offset, table->sh_size);
    if (symbols == NULL || names->sh_offset > image.size ||
        names->sh_size > image.size - names->sh_offset)
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *s = &symbols[i];
        uintptr_t into = addr - image.bias - s->st_value;
        if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx == SHN_UNDEF ||
            into >= s->st_size || s->st_name >= names->sh_size)
            continue;
        const char *name = image.bytes + names->sh_offset + s->st_name;
        int n = (int)strnlen(name, names->sh_size - s->st_name);
        /* 24 leaves room for "+0x", up to 16 digits and the final 0. */
        n = n < SHMEMI_SYMBOL - 24 ? n : SHMEMI_SYMBOL - 24;
        if (into == 0)
            snprintf(text, size, "%.*s", n, name);
        else
            snprintf(text, size, "%.*s+0x%zx", n, name, (size_t)into);
        return true;
    }
    return false;
}

/* Searches the symbol tables of the program's file for the object at an address. */
static bool find_object(uintptr_t addr, char *text, size_t size)
{
    pthread_once(&opened, open_image);
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)image.bytes;
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const ElfW(Shdr) *table = section(head, tables[i]);
        if (table != NULL && search_table(head, table, addr, text, size))
            return true;
    }
    return false;
}

/* Writes the name of the program's global or static at an address. Returns false if it is not
 * known. Each wait of more than 10 ms is described, a program waits for the same few words again
 * and again, and a large program has a million symbols: so the last names are cached. */
bool shmemi_symbol(char text[SHMEMI_SYMBOL], const void *addr)
{
    enum { CACHED = 8 };
    static struct {
        const void *addr;
        bool found;
        char text[SHMEMI_SYMBOL];
    } cached[CACHED];
    static uint32_t next;
    uint32_t i = 0;
    pthread_mutex_lock(&mutex);
    while (i < CACHED && cached[i].addr != addr)
        i++;
    if (i == CACHED) {
        i = next++ % CACHED;
        cached[i].text[0] = 0;
        cached[i].addr = addr;
        cached[i].found = find_object((uintptr_t)addr, cached[i].text, sizeof cached[i].text);
    }
    memcpy(text, cached[i].text, SHMEMI_SYMBOL);
    bool found = cached[i].found;
    pthread_mutex_unlock(&mutex);
    return found;
}
