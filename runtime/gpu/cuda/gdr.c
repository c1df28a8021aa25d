/*
 * gdr.c: maps memory of a GPU for the CPU by GDRCopy, and unmaps it. Each
 * mapping has its own connection to the kernel module, so mappings share nothing.
 */
#include "gdr.h"

#include <errno.h>
#include <string.h>

/* Maps n bytes of memory of a GPU for the CPU by GDRCopy. Returns NULL, or the name of the function
 * that failed, with its errno in *error; nothing then stays mapped. */
const char *shmemi_gdr_map(const struct shmemi_gdr *functions, uint64_t address, size_t n,
                           struct shmemi_gdr_mapping *mapping, int *error)
{
    const char *failed = NULL;
    struct shmemi_gdr_info info;
    memset(&info, 0, sizeof info);
    memset(mapping, 0, sizeof *mapping);
    mapping->size = n;

    errno = 0;
    if ((mapping->gdr = functions->open()) == NULL) {
        *error = errno;
        return "gdr_open";
    }
    /* 0 and 0: tokens of peer-to-peer access, which memory of cuMemAlloc does not need. */
    if ((*error = functions->pin(mapping->gdr, address, n, 0, 0, &mapping->handle)) != 0) {
        failed = "gdr_pin_buffer";
        goto close;
    }
    if ((*error = functions->map(mapping->gdr, mapping->handle, &mapping->base, n)) != 0) {
        failed = "gdr_map";
        goto unpin;
    }
    if ((*error = functions->info(mapping->gdr, mapping->handle, &info)) != 0) {
        failed = "gdr_get_info";
        goto unmap;
    }
    /* The module maps whole pages: the memory may begin inside the first. */
    mapping->host = (char *)mapping->base + (address - info.va);
    mapping->combining = info.wc_mapping;
    return NULL;

unmap:
    functions->unmap(mapping->gdr, mapping->handle, mapping->base, n);
unpin:
    functions->unpin(mapping->gdr, mapping->handle);
close:
    functions->close(mapping->gdr);
    return failed;
}

/* Ends a mapping by GDRCopy, all three steps even if one fails. Returns NULL, or the first function
 * that failed and its code in *error. */
const char *shmemi_gdr_unmap(const struct shmemi_gdr *functions,
                             const struct shmemi_gdr_mapping *mapping, int *error)
{
    const char *failed = NULL;
    int code;
    if ((code = functions->unmap(mapping->gdr, mapping->handle, mapping->base, mapping->size)) !=
        0) {
        failed = "gdr_unmap";
        *error = code;
    }
    if ((code = functions->unpin(mapping->gdr, mapping->handle)) != 0 && failed == NULL) {
        failed = "gdr_unpin_buffer";
        *error = code;
    }
    if ((code = functions->close(mapping->gdr)) != 0 && failed == NULL) {
        failed = "gdr_close";
        *error = code;
    }
    return failed;
}
