/*
 * buffer_register.c: registers the program's buffers as symmetric memory, and unregisters them.
 *
 * All PEs agree before memory is moved, and once more after: a buffer becomes symmetric on all of
 * them or on none, and stays unchanged if it is refused. In main memory only whole pages are moved,
 * so that peers cannot write to bytes outside of the buffer. Memory of a GPU is not moved: the
 * allocations of the driver that contain it are mapped into the heap as well.
 */
#define _GNU_SOURCE
#include "buffer_register.h"

#include "barrier.h"
#include "below.h"
#include "buffers.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "statics.h"
#include "sync.h"
#include "team.h"
#include "registration_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bytes of a buffer that are copied at a time, before their part of the block is mapped over
 * them. Each mapping returns the copied pages to the system, so at most one piece is in memory
 * twice. */
#define PIECE ((size_t)32 << 20) /* 32 MiB */

/* ------------------------------------------------------------------- agreement */

/* The values that PEs compare in one reduction: the minimum over all PEs of each value, and of its
 * negative, which gives the maximum. */
enum {
    WHO, /* the lowest PE that cannot register its buffer; INT64_MAX: all can */
    LENGTH,
    MINUS_LENGTH,
    PLACE, /* the buffer's offset in the user heap; -1: it is outside */
    MINUS_PLACE,
    GRANULE, /* the unit in which the driver maps memory of a GPU; 0: main memory */
    MINUS_GRANULE,
    REST, /* the distance in bytes from a multiple of the granule to the buffer's begin */
    MINUS_REST,
    MINUS_BEFORE, /* bytes of the driver's allocations before the buffer's begin */
    MINUS_AFTER,  /* bytes of the driver's allocations from the buffer's begin on */
    ENTRIES
};

/* Reports whether every PE can carry out its request, and all requests match; the result is the
 * same on every PE. All PEs call it before they move memory, and again afterwards. A PE that cannot
 * register its buffer, or has failed to move it, has the error in request->why at the call. In
 * request->why of the other PEs this function names that PE, or writes why the requests do not
 * match. If a PE is lost, it returns false and leaves request->why as it is. Sets
 * request->max_before and request->max_after to the largest values of all PEs. */
static bool agree_on_request(struct registration_request *request, const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    int64_t length = (int64_t)request->length, granule = (int64_t)request->granule;
    int64_t rest = request->granule ? (int64_t)(request->before % request->granule) : 0;
    int64_t mine[ENTRIES] = {
        [WHO] = request->why[0] ? shmemi_state.my_pe : INT64_MAX,
        [LENGTH] = length,
        [MINUS_LENGTH] = -length,
        [PLACE] = request->inside,
        [MINUS_PLACE] = -request->inside,
        [GRANULE] = granule,
        [MINUS_GRANULE] = -granule,
        [REST] = rest,
        [MINUS_REST] = -rest,
        [MINUS_BEFORE] = -(int64_t)request->before,
        [MINUS_AFTER] = -(int64_t)request->after,
    };
    int64_t all[ENTRIES];
    shmemi_exchange(&shmemi_world, all, mine, ENTRIES, &least, call);
    if (!shmemi_collective_unbroken())
        return false; /* a PE is lost, so the call has failed */
    if (all[WHO] == INT64_MAX && all[LENGTH] != -all[MINUS_LENGTH])
        REFUSE(request,
               "PEs pass %" PRId64 " to %" PRId64 " bytes (pass the same length on every PE)",
               all[LENGTH], -all[MINUS_LENGTH]);
    else if (all[WHO] == INT64_MAX && all[PLACE] != -all[MINUS_PLACE])
        REFUSE(request,
               "it is in the symmetric heap of a PE, and not there or elsewhere in another's "
               "(register either memory of shmem_malloc, or other memory)");
    else if (all[WHO] == INT64_MAX && all[GRANULE] != -all[MINUS_GRANULE])
        REFUSE(request,
               "PEs pass memory of a GPU in units of %" PRId64 " to %" PRId64
               " bytes, 0 is main memory (register one kind of memory on every PE)",
               all[GRANULE], -all[MINUS_GRANULE]);
    else if (all[WHO] == INT64_MAX && all[REST] != -all[MINUS_REST])
        REFUSE(request,
               "it begins %" PRId64 " to %" PRId64 " bytes behind a multiple of %" PRId64
               ", and has to be the same on every PE (make the same allocations on every PE)",
               all[REST], -all[MINUS_REST], all[GRANULE]);
    else if (all[WHO] != INT64_MAX && request->why[0] == '\0')
        REFUSE(request, "PE %" PRId64 " cannot do it for its own (see the error of that PE)",
               all[WHO]);
    request->max_before = (size_t)-all[MINUS_BEFORE];
    request->max_after = (size_t)-all[MINUS_AFTER];
    return request->why[0] == '\0';
}

/* Ends the collective call, and reports why it has failed on this PE, if it has: sets the thread's
 * last error, and calls the program's handler. */
static void end_call(const struct registration_request *request, const char *call)
{
    char object[WHY + 80];
    if (!shmemi_collective_end() || request->why[0] == '\0')
        return;
    snprintf(object, sizeof object, "the buffer of %zu bytes at %#" PRIxPTR ": %s", request->length,
             request->start, request->why);
    shmemi_fail_buffer(object, call);
}

/* ---------------------------------------------------------------------- moving */

/* Returns the address at which the CPU accesses a block of this PE's heap. */
static char *block_at(int64_t offset)
{
    return shmemi_state.near_base[shmemi_state.my_pe] + offset;
}

/* Sets the pages of a block of the heap to 0, because earlier allocations may have written to them.
 * Pages that were never written need no store. */
static void clear_pages(int64_t offset, size_t n)
{
    uint64_t place = shmemi_state.heap_place + (uint64_t)offset, end = place + n;
    for (uint64_t from = place, to = end; shmemi_file_written(shmemi_state.heap_fd, &from, &to);
         from = to, to = end)
        memset(block_at(offset) + (from - place), 0, to - from);
}

/* Copies the buffer into its block of the heap, and maps the block over the buffer, piece by piece.
 * Returns how many bytes it has moved: less than the whole, with errno set, if mmap fails. It calls
 * the kernel, and not the C library's mmap: AddressSanitizer replaces that one, and would forget
 * the red zones in the buffer. */
static size_t move_in(const struct registration_request *request, int64_t offset)
{
    size_t at = 0;
    clear_pages(offset, request->length);
    for (size_t n; at < request->length; at += n) {
        n = request->length - at < PIECE ? request->length - at : PIECE;
        const char *from = (const char *)request->start + at;
        for (size_t page = 0; page < n; page += PAGE)
            if (shmemi_page_has_data(from + page))
                shmemi_copy_pages(block_at(offset) + at + page, from + page, PAGE);
        if (syscall(SYS_mmap, from, n, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shmemi_state.heap_fd,
                    (off_t)(shmemi_state.heap_place + (uint64_t)offset + at)) == -1)
            break;
    }
    return at;
}

/* Returns a private copy of a block of the heap, which move_out can move to the buffer's address;
 * NULL if there is no memory for it. */
static char *copy_of(int64_t offset, size_t length)
{
    char *copy = (char *)syscall(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return NULL;
    uint64_t place = shmemi_state.heap_place + (uint64_t)offset, end = place + length;
    for (uint64_t from = place, to = end; shmemi_file_written(shmemi_state.heap_fd, &from, &to);
         from = to, to = end)
        shmemi_copy_pages(copy + (from - place), block_at(offset) + (from - place), to - from);
    return copy;
}

/* Moves a private copy to the address of a buffer, in place of the heap's pages there. It ends the
 * job if it cannot, because the buffer has lost its own pages. */
static void move_out(char *copy, uintptr_t start, size_t length, const char *call)
{
    if (syscall(SYS_mremap, copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, start) == -1)
        shmemi_abort(call, "raise vm.max_map_count",
                     "the buffer of %zu bytes at %p cannot have pages of its own again: %s", length,
                     (void *)start, strerror(errno));
}

/* ------------------------------------------------------------------- the calls */

/* Registers a buffer of main memory: all PEs allocate a block of the heap for it and move it there.
 * Returns the block's offset, or -1 with the reason in request->why. */
static int64_t register_in_main(struct registration_request *request, const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    int64_t offset =
        request->length > shmemi_state.heap_size ? -1 : core->heap_alloc(request->length, PAGE, 0);
    if (offset < 0)
        REFUSE(request,
               "the symmetric heap, which it takes room of, has none for it (free some, or raise "
               "SHMEM_SYMMETRIC_SIZE)");
    if (agree_on_request(request, call)) {
        const size_t moved = move_in(request, offset);
        if (moved < request->length)
            REFUSE(request,
                   "mmap: %s (pass memory of ordinary pages, and raise vm.max_map_count if there "
                   "are many mappings)",
                   strerror(errno));
        if (agree_on_request(request, call))
            return offset;
        /* Bytes that were not moved are in the buffer alone. */
        char *copy = moved > 0 ? copy_of(offset, moved) : NULL;
        if (copy != NULL)
            move_out(copy, request->start, moved, call);
        else if (moved > 0)
            shmemi_abort(call, "free some memory", "%s, and there is no memory to undo it",
                         request->why);
    }
    if (offset >= 0)
        core->heap_free(offset);
    return -1;
}

/* Reports whether the registered buffers are in the memory of a GPU. A buffer has to be in the same
 * kind of memory as the heap, so this holds for all buffers or for none. */
static bool buffers_on_gpu(void)
{
    return shmemi_state.heap_fd < 0;
}

/* Unmaps memory of a GPU from the block of the heap that contains the offset. */
static void unmap_gpu(int64_t offset, const char *call)
{
    if (shmemi_state.core->gpu_take_back(offset) != SHMEMI_DONE)
        shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
}

/* Ends the registration of the buffer at index i of the table: maps the pages of copy at its
 * address, or, if copy is NULL, unmaps the memory of a GPU from the block of the heap. unmap_gpu
 * also frees the block; in main memory shmemi_buffer_unregister does, and at finalize nobody. */
static void end_registration(uint32_t i, char *copy, const char *call)
{
    struct shmemi_static b = shmemi_buffer_at(i);
    shmemi_buffer_drop(i);
    if (copy == NULL)
        unmap_gpu(b.offset, call);
    else
        move_out(copy, b.start, b.size, call);
}

/* Registers a buffer in the memory of a GPU: maps it into a new block of the heap. Returns the
 * block's offset, or -1 with the reason in request->why. The driver maps whole allocations, and a
 * buffer may begin anywhere in one. The buffers of all PEs need the same offset, so the block has
 * as much room before the buffer as the PE needs whose buffer begins farthest from its allocation's
 * start. Where this PE's needs less, its allocations are mapped from a later offset in the block
 * on.
 */
static int64_t register_in_gpu(struct registration_request *request, const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    int64_t block = core->gpu_lend(request->max_before + request->max_after,
                                   request->max_before - request->before);
    if (block < 0)
        REFUSE(request, "%s", core->error());
    if (agree_on_request(request, call))
        return block + (int64_t)request->max_before;
    if (block >= 0)
        unmap_gpu(block, call);
    return -1;
}

/* Implements shmemx_buffer_register_symmetric: all PEs check their buffers, agree, move or map them
 * into the heap, and agree once more. Returns the symmetric address, or NULL. */
void *shmemi_buffer_register(void *buf_ptr, size_t length, int flags, const char *call)
{
    struct registration_request request = {
        .start = (uintptr_t)buf_ptr, .length = length, .inside = -1};
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return NULL;
    /* Earlier operations of the caller may still read the buffer or write to it. */
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    /* If some heap is in GPU memory, the PEs of a node change their heaps together, and fail if one
     * does not come in time. This sync waits for late PEs first, without a limit. */
    if (shmemi_state.grows_together)
        shmemi_sync_members(&shmemi_world, call);
    shmemi_registration_check(&request, flags);
    void *symmetric = NULL;
    if (!agree_on_request(&request, call)) {
        /* The check has made the core look up the driver's chunks, which gpu_lend would map. */
        if (request.granule)
            shmemi_state.core->gpu_forget();
    } else {
        int64_t offset = request.inside >= 0 ? request.inside
                         : request.granule   ? register_in_gpu(&request, call)
                                             : register_in_main(&request, call);
        if (offset >= 0) {
            symmetric = (char *)shmemi_state.heap_base + offset;
            if (request.inside < 0)
                shmemi_buffer_add((struct shmemi_static){request.start, length, offset});
        }
    }
    end_call(&request, call);
    return symmetric;
}

/* Implements shmemx_buffer_unregister_symmetric: after a barrier, each PE replaces the buffer's
 * pages by private ones with the same contents, and frees its block of the heap. */
int shmemi_buffer_unregister(void *mmap_ptr, size_t length, const char *call)
{
    struct registration_request request = {
        .start = (uintptr_t)mmap_ptr, .length = length, .inside = -1};
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return -1;
    shmemi_barrier_all(call); /* until then another PE may still access the buffer */
    int64_t offset = (int64_t)(request.start - shmemi_state.heap_base);
    uint32_t i = shmemi_buffer_of_block(offset);
    bool known = i < shmemi_buffers_count() && shmemi_buffer_at(i).size == length;
    char *copy = NULL;
    request.inside = offset;
    if (known) {
        if (!buffers_on_gpu() && (copy = copy_of(offset, length)) == NULL)
            REFUSE(&request, "%s (free some memory)", strerror(errno));
    } else if (i < shmemi_buffers_count()) {
        REFUSE(&request, "it was registered with %zu bytes (pass that length)",
               shmemi_buffer_at(i).size);
    } else if ((uint64_t)offset >= shmemi_state.heap_size ||
               shmemi_state.core->heap_bytes_from(offset) < length || length == 0) {
        REFUSE(&request, "no buffer is registered there (pass the address that "
                         "shmemx_buffer_register_symmetric returned, once)");
    }
    bool good = agree_on_request(&request, call);
    if (good && known) {
        end_registration(i, copy, call);
        if (copy != NULL)
            shmemi_state.core->heap_free(offset);
    } else if (copy != NULL) {
        syscall(SYS_munmap, copy, length);
    }
    end_call(&request, call);
    return good ? 0 : -1;
}

/* At finalize: ends the registration of all buffers, without communication. */
void shmemi_buffers_close(const char *call)
{
    while (shmemi_buffers_count() > 0) {
        struct shmemi_static b = shmemi_buffer_at(shmemi_buffers_count() - 1);
        char *copy = buffers_on_gpu() ? NULL : copy_of(b.offset, b.size);
        if (copy == NULL && !buffers_on_gpu())
            shmemi_abort(call, "unregister buffers before, or free some memory",
                         "no memory for the %zu bytes of the buffer at %p, which is registered: %s",
                         b.size, (void *)b.start, strerror(errno));
        end_registration(shmemi_buffers_count() - 1, copy, call);
    }
}
