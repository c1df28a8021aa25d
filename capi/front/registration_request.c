/*
 * registration_request.c: whether memory of the program can be registered, and if not, why.
 */
#define _GNU_SOURCE
#include "registration_request.h"

#include "buffers.h"
#include "maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Refuses a buffer with a page in this mapping, at address `at`, if the mapping's access or name,
 * as in /proc/self/maps, shows that it cannot be moved. */
static void check_mapping(struct registration_request *request, uintptr_t at, const char *access,
                          const char *name)
{
    if (access[3] == 's')
        REFUSE(request,
               "its page at %#" PRIxPTR
               " is shared memory, whose other users would be cut off (copy "
               "it to private memory)",
               at);
    else if (memcmp(access, "rw-", 3) != 0)
        REFUSE(request,
               "its page at %#" PRIxPTR
               " is mapped %.3s, not rw- (restore read and write access by mprotect)",
               at, access);
    else if (strstr(name, "[stack]") != NULL)
        REFUSE(request, "it is on the stack (allocate it)");
}

/* Refuses a buffer unless every page is private memory with read and write access, as the kernel
 * lists it. Shared pages could not be moved, because they would no longer belong to their file. The
 * kernel lists mappings in ascending order, so `at`, the first address that is not checked yet,
 * only grows. */
static void check_mappings(struct registration_request *request)
{
    struct shmemi_maps maps;
    if (!shmemi_maps_open(&maps)) {
        REFUSE(request, "/proc/self/maps: %s (mount /proc, or raise ulimit -n)", strerror(errno));
        return;
    }
    uintptr_t at = request->start, end = request->start + request->length;
    struct shmemi_mapping m;
    while (at < end && request->why[0] == '\0' && shmemi_maps_next(&maps, &m)) {
        if (m.to <= at)
            continue;
        if (m.from > at)
            break;
        check_mapping(request, at, m.access, m.name);
        at = m.to;
    }
    shmemi_maps_close(&maps);
    if (at < end && request->why[0] == '\0')
        REFUSE(request, "nothing is mapped at %#" PRIxPTR " (pass memory that is allocated)", at);
}

/* Reports whether the buffer contains the caller's stack, which cannot move while this function
 * runs on it. */
static bool on_this_stack(const struct registration_request *request)
{
    return (uintptr_t)__builtin_frame_address(0) - request->start < request->length;
}

/* Checks a buffer in the memory of a GPU, which may have any address. The core finds the driver's
 * allocations that contain it. */
static void check_gpu_buffer(struct registration_request *request)
{
    size_t size;
    if (shmemi_state.heap_fd >= 0)
        REFUSE(request, "it is in the memory of a GPU, and the symmetric heap in main memory (set "
                        "SHMEM_HEAP=device)");
    else if (shmemi_state.core->gpu_find_chunks((const void *)request->start, request->length,
                                                &request->granule, &request->before,
                                                &size) != SHMEMI_DONE)
        REFUSE(request, "%s", shmemi_state.core->error());
    else
        request->after = size - request->before;
}

/* Checks whether a buffer can be registered. Refuses the request with a reason, or fills in where
 * its memory is: inside, granule, before and after. */
void shmemi_registration_check(struct registration_request *request, int flags)
{
    const struct shmemi_state *s = &shmemi_state;
    uintptr_t start = request->start, end;
    if (flags != 0)
        REFUSE(request, "flags %#x are unknown (pass 0)", (unsigned)flags);
    else if (start == 0 || request->length == 0)
        REFUSE(request, "there is no buffer of %zu bytes at %#" PRIxPTR " (pass memory of this PE)",
               request->length, start);
    else if (__builtin_add_overflow(start, request->length, &end))
        REFUSE(request, "%zu bytes at %#" PRIxPTR " run past the address space (check the length)",
               request->length, start);
    else if (start - s->heap_base < s->heap_size) {
        request->inside = (int64_t)(start - s->heap_base);
        if (s->core->heap_bytes_from(request->inside) < request->length)
            REFUSE(request,
                   "%zu bytes at heap offset %#" PRIx64 " are not of one allocation (check the "
                   "length, and that the memory was not freed)",
                   request->length, request->inside);
    } else if (shmemi_buffers_full())
        REFUSE(request, "%d buffers are registered (unregister some)", SHMEMI_BUFFERS);
    else if (shmemi_buffer_within(start, request->length))
        REFUSE(request, "a part of it is registered already (register memory once)");
    else if (s->gpu && s->core->gpu_holds((const void *)start))
        check_gpu_buffer(request);
    else if (start % PAGE != 0 || request->length % PAGE != 0)
        REFUSE(request,
               "%zu bytes at %#" PRIxPTR
               " are not whole pages (pass memory that aligned_alloc(%zu, n) "
               "returns, and a multiple of %zu bytes)",
               request->length, start, PAGE, PAGE);
    else if (s->heap_fd < 0)
        REFUSE(request,
               "the symmetric heap is in the memory of a GPU, and memory of the host cannot be "
               "in it (set SHMEM_HEAP=host or pinned)");
    else if (on_this_stack(request))
        REFUSE(request, "it is on the stack (allocate it)");
    else
        check_mappings(request);
}
