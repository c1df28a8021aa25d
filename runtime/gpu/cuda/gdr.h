/*
 * gdr.h: declares the functions of GDRCopy 2 that the library uses, without its
 * header. GDRCopy maps memory of a GPU for the CPU by its own kernel module.
 */
#ifndef SHMEMI_CUDA_GDR_H
#define SHMEMI_CUDA_GDR_H

#include <stddef.h>
#include <stdint.h>

struct shmemi_gdr_handle {
    unsigned long value;
};

/* gdr_info_v2_t of GDRCopy 2.5. In earlier versions the struct ends with wc_mapping. */
struct shmemi_gdr_info {
    uint64_t va; /* where the mapping begins, for the GPU */
    uint64_t mapped_size;
    uint32_t page_size;
    uint64_t tm_cycles;
    uint32_t cycles_per_ms;
    unsigned mapped : 1;
    unsigned wc_mapping : 1;
    int mapping_type;
};

struct shmemi_gdr {
    void *(*open)(void);
    int (*close)(void *gdr);
    int (*pin)(void *gdr, unsigned long address, size_t n, uint64_t token, uint32_t space,
               struct shmemi_gdr_handle *handle);
    int (*unpin)(void *gdr, struct shmemi_gdr_handle handle);
    int (*map)(void *gdr, struct shmemi_gdr_handle handle, void **address, size_t n);
    int (*unmap)(void *gdr, struct shmemi_gdr_handle handle, void *address, size_t n);
    int (*info)(void *gdr, struct shmemi_gdr_handle handle, struct shmemi_gdr_info *info);
    void (*version)(int *major, int *minor);
};

/* A mapping and the data to undo it. */
struct shmemi_gdr_mapping {
    void *gdr;
    struct shmemi_gdr_handle handle;
    void *base; /* the mapping; the requested memory begins at host */
    size_t size;
    void *host;
    int combining; /* the CPU's stores are write-combined */
};

/* Fills in the functions of GDRCopy from its library. Returns NULL, or the name of one that is
 * missing. */
const char *shmemi_gdr_bind(struct shmemi_gdr *functions, void *library);

/* Maps memory of a GPU for the CPU. Returns NULL, or the name of the function that failed, with
 * its errno in *error (0 if it set none); nothing then stays mapped. */
const char *shmemi_gdr_map(const struct shmemi_gdr *functions, uint64_t address, size_t n,
                           struct shmemi_gdr_mapping *mapping, int *error);

/* Undoes shmemi_gdr_map, all steps of it even if one fails. Returns NULL, or the name of the first
 * function that failed, with its errno in *error. */
const char *shmemi_gdr_unmap(const struct shmemi_gdr *functions,
                             const struct shmemi_gdr_mapping *mapping, int *error);

/* Sets *major and *minor to the version of GDRCopy's library. */
static inline void shmemi_gdr_version(const struct shmemi_gdr *functions, int *major, int *minor)
{
    functions->version(major, minor);
}

#endif
