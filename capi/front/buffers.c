/*
 * buffers.c: the table of the program's buffers that are registered as symmetric memory. The memory
 * of a buffer is also a block of the user heap (buffers.h); offsets are those of the block, from
 * the start of the heap.
 */
#include "buffers.h"

/*
 * The registered buffers, sorted by start. The thread that makes the collective call changes the
 * table while other threads read it under the sequence count `turn`: they may see a half-written
 * entry, but then the count has changed, and they read again.
 */
static struct {
    uint32_t turn;
    uint32_t n;
    struct shmemi_static entries[SHMEMI_BUFFERS];
} table;

/* Reads entry i of the table, which another thread may be changing. */
static struct shmemi_static read_entry(uint32_t i)
{
    return (struct shmemi_static){shmemi_read_once(&table.entries[i].start),
                                  shmemi_read_once(&table.entries[i].size),
                                  shmemi_read_once(&table.entries[i].offset)};
}

/* Writes entry i of the table while other threads may read it. */
static void set_entry(uint32_t i, struct shmemi_static e)
{
    shmemi_write_once(&table.entries[i].start, e.start);
    shmemi_write_once(&table.entries[i].size, e.size);
    shmemi_write_once(&table.entries[i].offset, e.offset);
}

/* Searches the sorted table for the buffer that contains n bytes, and returns their offset;
 * SHMEMI_NO_OFFSET if there is none. An address at the very end of a buffer is in it, too, with no
 * bytes. */
static int64_t find_buffer(uintptr_t addr, size_t n)
{
    uint32_t low = 0, high = shmemi_read_once(&table.n);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        struct shmemi_static e = read_entry(middle);
        uintptr_t offset = addr - e.start;
        if (addr < e.start)
            high = middle;
        else if (offset > e.size || (offset == e.size && middle + 1 < high))
            low = middle + 1; /* the end of one may be the start of the next */
        else if (n <= e.size - offset)
            return e.offset + (int64_t)offset;
        else
            break;
    }
    return SHMEMI_NO_OFFSET;
}

/* Returns the offset on the heap of n bytes of a registered buffer; SHMEMI_NO_OFFSET if no buffer
 * contains them. It searches again if another thread has changed the table meanwhile. */
int64_t shmemi_buffer_offset(const void *addr, size_t n)
{
    for (;;) {
        uint32_t turn = shmemi_seqcount_read_begin(&table.turn);
        int64_t offset = find_buffer((uintptr_t)addr, n);
        if (!shmemi_seqcount_read_retry(&table.turn, turn))
            return offset;
    }
}

/* Begins a change of the table: makes the sequence count odd, so that readers read again. */
static void begin_change(void)
{
    shmemi_seqcount_write_begin(&table.turn);
}

/* Ends a change of the table: sets the number of entries, and makes the sequence count even again.
 */
static void end_change(uint32_t n)
{
    shmemi_write_once(&table.n, n);
    shmemi_seqcount_write_end(&table.turn);
}

/* Inserts a buffer into the table, which is sorted by start, within one change of the sequence
 * count. */
void shmemi_buffer_add(struct shmemi_static e)
{
    uint32_t i = table.n;
    begin_change();
    for (; i > 0 && table.entries[i - 1].start > e.start; i--)
        set_entry(i, table.entries[i - 1]);
    set_entry(i, e);
    end_change(table.n + 1);
}

/* Removes entry i from the table, within one change of the sequence count. */
void shmemi_buffer_drop(uint32_t i)
{
    begin_change();
    for (; i + 1 < table.n; i++)
        set_entry(i, table.entries[i + 1]);
    end_change(table.n - 1);
}

/* Returns the number of registered buffers. */
uint32_t shmemi_buffers_count(void)
{
    return table.n;
}

/* Returns the i-th registered buffer by its address. */
struct shmemi_static shmemi_buffer_at(uint32_t i)
{
    return table.entries[i];
}

/* Reports whether no more buffers can be registered. */
bool shmemi_buffers_full(void)
{
    return table.n == SHMEMI_BUFFERS;
}

/* Reports whether a registered buffer and these bytes have a byte in common. Each difference of two
 * addresses is unsigned, and so too large for its comparison if it were negative. */
bool shmemi_buffer_within(uintptr_t start, size_t length)
{
    for (uint32_t i = 0; i < table.n; i++)
        if (start - table.entries[i].start < table.entries[i].size ||
            table.entries[i].start - start < length)
            return true;
    return false;
}

/* Returns the index of the buffer whose block of the heap begins at an offset; table.n if there is
 * none. */
uint32_t shmemi_buffer_of_block(int64_t offset)
{
    uint32_t i = 0;
    while (i < table.n && table.entries[i].offset != offset)
        i++;
    return i;
}

/* Reports whether a registered buffer has the block at an offset. */
bool shmemi_buffer_block(int64_t offset)
{
    return shmemi_buffer_of_block(offset) < table.n;
}

/* After a fork, in the child, which has no symmetric memory: empties the table. turn is set to 0,
 * too: a thread of the parent, which the child does not have, may have left it odd. */
void shmemi_buffers_forget(void)
{
    table.turn = table.n = 0;
}
