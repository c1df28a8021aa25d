/*
 * maps.h: this process's mappings, as the kernel lists them. It uses no other part of the library.
 */
#ifndef SHMEMI_MAPS_H
#define SHMEMI_MAPS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* A mapping: addresses from `from` to just below `to`. */
struct shmemi_mapping {
    uintptr_t from, to;
    char access[5];      /* as in /proc/self/maps: rw-p */
    unsigned long inode; /* 0: no file */
    const char *name;    /* with its newline, or ""; valid until the next mapping is read */
};

/* A list of mappings that is being read. */
struct shmemi_maps {
    FILE *file;
    char line[512];
};

/* Opens the list of mappings. Returns false if that fails; errno has the reason. */
static inline bool shmemi_maps_open(struct shmemi_maps *maps)
{
    maps->file = fopen("/proc/self/maps", "re");
    return maps->file != NULL;
}

/* Reads the next mapping, in ascending order. Returns false if there is none. Of a line that is
 * longer than maps->line, it cuts the name, and skips the rest of the line. */
static inline bool shmemi_maps_next(struct shmemi_maps *maps, struct shmemi_mapping *m)
{
    while (fgets(maps->line, sizeof maps->line, maps->file) != NULL) {
        int name = 0; /* where the name begins in the line */
        bool has_end = false;
        for (const char *c = maps->line; *c != '\0'; c++)
            has_end |= *c == '\n';
        int read = sscanf(maps->line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu %n", &m->from,
                          &m->to, m->access, &m->inode, &name);
        for (int c = 0; !has_end && c != '\n' && c != EOF;)
            c = fgetc(maps->file);
        if (read == 4) {
            m->name = maps->line + name;
            return true;
        }
    }
    return false;
}

/* Ends the reading of the mappings. */
static inline void shmemi_maps_close(struct shmemi_maps *maps)
{
    fclose(maps->file);
}

#endif
