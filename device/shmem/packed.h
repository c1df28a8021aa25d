/*
 * packed.h: short reductions among PEs that all reach each other by loads and stores. A PE stores
 * its source into every other PE's memory in lines of 16 bytes, each with 8 bytes of data and twice
 * the number of the round. A reader that finds the number in both halves of a line has its data, so
 * there is no flag, and no fence that waits until the data have arrived at the other GPU before the
 * flag goes out.
 *
 * There are two sets of lines, used alternately, as the buffers of reduce.h are and for the same
 * reason: a PE that stores the lines of round t + 2 has read those of all PEs of round t + 1, and
 * every PE stores its lines of round t + 1 only after it has read those of round t. A number
 * repeats after 2^32 - 1 rounds.
 */
#ifndef SHMEM_PACKED_H
#define SHMEM_PACKED_H

#include "sync.h"

#ifdef SHMEMI_KERNEL

/*
 * Loads 8 bytes of an array, or less where fewer elements are left; `elements` counts them from
 * `at` on. The array is in this PE's memory, and may be aligned to an element only. An element has
 * at most 8 bytes.
 */
template <class T> SHMEMI_D uint64_t shmemi_load_packed(const T *at, uint64_t elements)
{
    constexpr uint32_t most = 8 / sizeof(T);
    uint64_t v = 0;
    if (elements >= most && ((uintptr_t)at & 7) == 0) {
        v = *(const uint64_t *)(const void *)at;
    } else {
        union {
            uint64_t whole;
            typename shmemi_bits<sizeof(T)>::type part[most];
        } u;
        u.whole = 0;
#pragma unroll
        for (uint32_t i = 0; i < most; i++)
            if (i < elements)
                u.part[i] = ((const typename shmemi_bits<sizeof(T)>::type *)(const void *)at)[i];
        v = u.whole;
    }
    return v;
}

/* Stores the bytes that shmemi_load_packed has loaded from an array, or a result of the same
 * size. */
template <class T> SHMEMI_D void shmemi_store_packed(T *at, uint64_t elements, uint64_t v)
{
    constexpr uint32_t most = 8 / sizeof(T);
    if (elements >= most && ((uintptr_t)at & 7) == 0) {
        *(uint64_t *)(void *)at = v;
    } else {
#pragma unroll
        for (uint32_t i = 0; i < most; i++)
            if (i < elements)
                ((typename shmemi_bits<sizeof(T)>::type *)(void *)at)[i] =
                    (typename shmemi_bits<sizeof(T)>::type)(v >> 8 * sizeof(T) * i);
    }
}

/* Applies an operation to each pair of elements of two words, and returns the word of the results.
 * Behind the end of an array the words have no elements; the results of these bytes are not stored.
 */
template <class OP, class T> SHMEMI_D uint64_t shmemi_apply_word(uint64_t a, uint64_t b)
{
    union word {
        uint64_t whole;
        T part[8 / sizeof(T)];
        __device__ word()
        {
        }
    } x, y;
    x.whole = a;
    y.whole = b;
#pragma unroll
    for (uint32_t i = 0; i < 8 / sizeof(T); i++)
        x.part[i] = OP::template apply<T>(x.part[i], y.part[i]);
    return x.whole;
}

/* Returns the number by which a reader knows the lines of a round. It is never 0, which memory has
 * at first. */
SHMEMI_D uint32_t shmemi_line_number(uint64_t round)
{
    return (uint32_t)(round % 0xffffffff) + 1;
}

/* Stores a line: 8 bytes of data in two words, each with the number in its upper half. A reader
 * sees each word whole, and may see one without the other. */
SHMEMI_D void shmemi_store_line(void *at, uint64_t data, uint32_t number)
{
    uint64_t high = (uint64_t)number << 32;
    shmemi_store_slot(at, high | (uint32_t)data, high | data >> 32);
}

/* How many PEs' lines a thread loads at once. */
#define SHMEMI_LINES 4

/*
 * Waits until the lines of up to SHMEMI_LINES PEs, from rank `first` on, have the number, and
 * stores their data in data. at is rank 0's line, and the lines of the other ranks follow at
 * distances of `apart` bytes. This PE has no line; that, and the lines of ranks beyond the last,
 * count as there, and their data has no meaning. Each poll loads all lines at once: one load after
 * the other would add the time of a load for each PE.
 */
SHMEMI_D void shmemi_await_lines(const struct shmemi_device_image *image,
                                 const struct shmemi_members *m, const char *at, uint64_t apart,
                                 int first, uint32_t number, uint64_t *data)
{
    uint32_t polls = 0, other;
    for (;;) {
        uint64_t a[SHMEMI_LINES], b[SHMEMI_LINES];
#pragma unroll
        for (int k = 0; k < SHMEMI_LINES; k++) {
            a[k] = b[k] = (uint64_t)number << 32;
            if (first + k < m->n && first + k != m->me)
                shmemi_load_pair(at + (uint64_t)(first + k) * apart, &a[k], &b[k]);
        }
        other = 0;
#pragma unroll
        for (int k = 0; k < SHMEMI_LINES; k++) {
            other |= ((uint32_t)(a[k] >> 32) ^ number) | ((uint32_t)(b[k] >> 32) ^ number);
            data[k] = (uint32_t)a[k] | b[k] << 32;
        }
        if (other == 0)
            return;
        shmemi_keep_waiting_for(image, &polls, m->losses);
    }
}

/*
 * Waits for a line of each PE and combines their data with this PE's own, in the order of the PEs.
 * WORD combines two words (shmemi_apply_word). at is rank 0's line, and the lines of the others
 * follow at distances of `apart` bytes.
 */
template <class WORD>
SHMEMI_D uint64_t shmemi_combine_lines(const struct shmemi_device_image *image,
                                       const struct shmemi_members *m, const char *at,
                                       uint64_t apart, uint32_t number, uint64_t mine)
{
    uint64_t v = 0;
#pragma unroll 1
    for (int first = 0; first < m->n; first += SHMEMI_LINES) {
        uint64_t theirs[SHMEMI_LINES];
        shmemi_await_lines(image, m, at, apart, first, number, theirs);
#pragma unroll
        for (int k = 0; k < SHMEMI_LINES; k++) {
            uint64_t one = first + k == m->me ? mine : theirs[k];
            if (first + k < m->n)
                v = first + k == 0 ? one : WORD::word(v, one);
        }
    }
    return v;
}

/* The operation on all elements of two words. */
template <class OP, class T> struct shmemi_by_word {
    SHMEMI_D uint64_t word(uint64_t a, uint64_t b)
    {
        return shmemi_apply_word<OP, T>(a, b);
    }
};

/*
 * The most bytes that a scope reduces in lines. Half of the bytes of the lines are data. A thread
 * alone waits for one line of a PE after the other: with 2 PEs it took 5.2 us for 32 bytes in lines
 * or in buffers, and for 64 bytes 8.9 us in lines and 5.4 us in buffers (H200s joined by NVLink).
 */
template <class SCOPE> struct shmemi_most_in_lines {
    static constexpr uint64_t bytes = SHMEMI_WORK_PACKED / 2;
};
template <> struct shmemi_most_in_lines<shmemi_by_thread> {
    static constexpr uint64_t bytes = 32;
};

/*
 * A reduction in lines. FITS: elements have at most 8 bytes. PARTS: each PE gets the result of
 * another part of the sources, as in a reduce-scatter.
 */
template <class OP, class T, int FITS = (sizeof(T) <= 8)> struct shmemi_in_lines {
    /*
     * Reports whether count elements go in lines. All PEs of the team have the same answer, because
     * they call by the same scope. 0 elements do not (count - 1 is then the greatest number): the
     * PEs would exchange nothing, and the two sets of lines rely on an exchange in each round.
     */
    template <class SCOPE>
    SHMEMI_D int takes(const struct shmemi_device_image *image, const struct shmemi_members *m,
                       uint64_t count)
    {
        return image->job.ring_count == 0 && m->n > 1 && m->n <= SHMEMI_WORK_PACKED_PES &&
               count - 1 < shmemi_most_in_lines<SCOPE>::bytes / sizeof(T);
    }

    /*
     * Reduces count elements. Each thread of the scope loads words of source, sends them to the
     * other PEs, and stores the results of the same words. No other thread reads these words of
     * source or stores these of dest, so source and dest may be the same array.
     */
    template <class SCOPE, int PARTS>
    SHMEMI_D void reduce(const struct shmemi_device_image *image, const struct shmemi_members *m,
                         uint64_t round, T *dest, const T *source, uint32_t count)
    {
        constexpr uint32_t per = 8 / sizeof(T);
        const uint32_t number = shmemi_line_number(round);
        const int n = m->n, me = m->me;
        char *lines = m->work.lines + (round & 1) * (uint64_t)n * SHMEMI_WORK_PACKED;
        const T *mine = source + (PARTS ? (uint64_t)me * count : 0);
#pragma unroll 1
        for (uint32_t i = per * SCOPE::rank(); i < count; i += per * SCOPE::size()) {
            char *line = lines + 16 / per * (uint64_t)i; /* 16 bytes hold `per` elements */
            uint64_t own = shmemi_load_packed<T>(mine + i, count - i);
#pragma unroll 1
            for (int k = 1; k < n; k++) {
                int rank = shmemi_rank_after(me, k, n);
                shmemi_store_line(
                    shmemi_direct(image, line + me * SHMEMI_WORK_PACKED, shmemi_pe_of(m, rank)),
                    PARTS ? shmemi_load_packed<T>(source + (uint64_t)rank * count + i, count - i)
                          : own,
                    number);
            }
            uint64_t v = shmemi_combine_lines<shmemi_by_word<OP, T>>(
                image, m, line, SHMEMI_WORK_PACKED, number, own);
            shmemi_store_packed<T>(dest + i, count - i, v);
        }
    }
};

/* Elements of more than 8 bytes do not fit into a line. */
template <class OP, class T> struct shmemi_in_lines<OP, T, 0 /* FITS */> {
    template <class SCOPE>
    SHMEMI_D int takes(const struct shmemi_device_image *, const struct shmemi_members *, uint64_t)
    {
        return 0;
    }
    template <class SCOPE, int PARTS>
    SHMEMI_D void reduce(const struct shmemi_device_image *, const struct shmemi_members *,
                         uint64_t, T *, const T *, uint32_t)
    {
    }
};

#endif

#endif
