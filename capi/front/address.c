/*
 * address.c: symmetric addresses outside of the heap, and errors about addresses that are not
 * symmetric.
 */
#include "address.h"

#include "buffers.h"
#include "error.h"
#include "program.h"
#include "symbol.h"

#include <stdio.h>

/* Returns the offset from the user heap of n bytes in the program's statics or, if they are not
 * there, in a registered buffer; otherwise SHMEMI_NO_OFFSET. */
int64_t shmemi_outside_offset(const void *addr, size_t n)
{
    const struct shmemi_state *s = &shmemi_state;
    for (uint32_t i = 0; i < s->n_statics; i++) {
        const struct shmemi_static *r = &s->statics[i];
        uintptr_t offset = (uintptr_t)addr - r->start;
        if (offset <= r->size && n <= r->size - offset)
            return r->offset + (int64_t)offset;
    }
    return shmemi_buffer_offset(addr, n);
}

/* Writes into text " (name)", with the name of the program's global or static that addr is in, or
 * "" if its name is not known. Returns text. */
static const char *name_text(char text[SHMEMI_SYMBOL + 4], const void *addr)
{
    char symbol[SHMEMI_SYMBOL];
    text[0] = 0;
    if (shmemi_symbol(symbol, addr))
        snprintf(text, SHMEMI_SYMBOL + 4, " (%s)", symbol);
    return text;
}

/* For n bytes at addr that are not symmetric, which the caller has found out: ends the program if
 * they begin in a registered buffer or a symmetric static, and so run past its end, or if they
 * begin in a static and the statics of this job are not symmetric. Returns otherwise. */
void shmemi_refuse_outside(const void *addr, size_t n, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    char name[SHMEMI_SYMBOL + 4];
    if (shmemi_buffer_offset(addr, 1) != SHMEMI_NO_OFFSET)
        shmemi_abort(call, "check the number of elements",
                     "%zu bytes at %p run past the buffer that is registered there", n, addr);
    for (uint32_t i = 0; i < s->n_statics; i++)
        if ((uintptr_t)addr - s->statics[i].start < s->statics[i].size)
            shmemi_abort(call, "check the number of elements",
                         "%zu bytes at %p%s run past the program's globals and statics", n, addr,
                         name_text(name, addr));
    /* statics_why has two strings, one behind the other: the cause and the remedy. */
    if (s->n_statics == 0 && shmemi_program_contains(addr))
        shmemi_abort(call, s->statics_why + strlen(s->statics_why) + 1,
                     "%p%s is in a global or static of the program, and those are not symmetric: "
                     "%s",
                     addr, name_text(name, addr), s->statics_why);
}

/* The last failed allocation: a symmetric address of NULL in a later call is probably its result.
 */
static struct {
    const char *call; /* the call that failed; NULL: no allocation has failed */
    size_t size;
} failed;

/* Records that a call could not allocate symmetric memory of this size. */
void shmemi_allocation_failed(size_t size, const char *call)
{
    failed.call = call;
    failed.size = size;
}

/* Ends the program if an argument is NULL and an earlier allocation has failed, which explains the
 * NULL. */
void shmemi_check_allocated(const char *what, const void *addr, const char *call)
{
    if (addr == NULL && failed.call != NULL)
        shmemi_abort(call,
                     "check whether an allocation returned NULL, and raise SHMEM_SYMMETRIC_SIZE",
                     "%s is NULL; before, %s of %zu bytes failed", what, failed.call, failed.size);
}

/* Ends the program because n bytes at addr are not symmetric: with the most specific error that
 * applies. */
void shmemi_refuse_range(const char *what, const void *addr, size_t n, const char *call)
{
    shmemi_check_allocated(what, addr, call);
    shmemi_refuse_outside(addr, n, call);
    shmemi_abort(call, "pass memory from shmem_malloc, large enough for every element",
                 "%s %p with %zu bytes is not in the symmetric heap", what, addr, n);
}

/* Names a symmetric address for reports by its heap offset, or by the static that it is in. */
const char *shmemi_place(char text[SHMEMI_PLACE], const void *addr)
{
    int64_t offset = shmemi_offset(addr);
    char symbol[SHMEMI_SYMBOL];
    if (offset >= 0)
        snprintf(text, SHMEMI_PLACE, "heap offset 0x%zx", (size_t)offset);
    else if (shmemi_symbol(symbol, addr))
        snprintf(text, SHMEMI_PLACE, "%s, a static, offset -0x%zx", symbol, (size_t)-offset);
    else
        snprintf(text, SHMEMI_PLACE, "a static, offset -0x%zx", (size_t)-offset);
    return text;
}

/* Under SHMEM_CHECKS=full, ends the job if the memory was freed, or if the n bytes run past the end
 * of their allocation. */
void shmemi_check_block(const void *addr, size_t n, const char *call)
{
    if (!shmemi_in_heap(addr, 0))
        return;
    int64_t offset = (int64_t)((uintptr_t)addr - shmemi_state.heap_base);
    size_t available = n ? shmemi_state.core->heap_bytes_from(offset) : 0;
    if (n > available)
        shmemi_abort(call, "check the number of elements, and that the memory was not freed",
                     "%zu bytes at %p: the allocation there has %zu bytes from that address on", n,
                     addr, available);
}

/* Ends the program unless the address is a multiple of n. */
void shmemi_need_aligned(const void *addr, size_t n, const char *call)
{
    if ((uintptr_t)addr % n != 0)
        shmemi_abort(call, "pass an element of an array of that type",
                     "%p is not aligned to %zu bytes", addr, n);
}

/* Under SHMEM_CHECKS=full, ends the program unless the address is a multiple of n. */
void shmemi_check_aligned(const void *addr, size_t n, const char *call)
{
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_need_aligned(addr, n, call);
}

/* Ends the program unless n bytes at p are symmetric memory. */
void shmemi_check_symmetric(const char *name, const void *p, size_t n, const char *call)
{
    if (n == 0)
        return;
    if (!shmemi_symmetric(p, n))
        shmemi_refuse_range(name, p, n, call);
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        shmemi_check_block(p, n, call);
}
