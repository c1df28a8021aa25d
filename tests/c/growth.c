/*
 * growth.c: operations on blocks for which the heap has just grown.
 *
 * The heap's memory is allocated, and registered with networks, part by part. Every PE puts into
 * such a block of its neighbour and gets from it as soon as it has the block, in pieces that begin
 * and end anywhere and so span one part or two.
 */
#include "check.h"

enum { PUT, SIGNAL, GET, TESTS };
enum { ROUNDS = 3, SIZE = 40 << 20, PIECE = (1 << 20) + 4321, PIECES = 8 };

static unsigned char sign(int pe, int round, int piece, size_t i)
{
    return (unsigned char)((size_t)pe * 37 + (size_t)round * 11 + (size_t)piece * 5 + i * 7 + 1);
}

static void fill(unsigned char *at, int pe, int round, int piece)
{
    for (size_t i = 0; i < PIECE; i++)
        at[i] = sign(pe, round, piece, i);
}

/* The first byte that differs, or PIECE. */
static size_t differs(const unsigned char *at, int pe, int round, int piece)
{
    size_t i = 0;
    while (i < PIECE && at[i] == sign(pe, round, piece, i))
        i++;
    return i;
}

/* Pieces at odd places, one behind the other with gaps. */
static unsigned char *place(unsigned char *block, int piece)
{
    return block + (size_t)piece * (SIZE / PIECES) + (size_t)piece * 13;
}

static void grow(int round, uint64_t *signal, unsigned char *local)
{
    const int right = (check.me + 1) % check.n, left = (check.me + check.n - 1) % check.n;
    unsigned char *block = check_alloc(SIZE);
    uint64_t due = (uint64_t)(round + 1);
    size_t at;
    for (int piece = 0; piece < PIECES - 1; piece++) {
        unsigned char *from = piece % 2 ? local : place(block, PIECES - 1);
        fill(from, check.me, round, piece);
        if (piece < PIECES - 2)
            shmem_putmem(place(block, piece), from, PIECE, right);
        else
            shmem_putmem_signal(place(block, piece), from, PIECE, signal, due, SHMEM_SIGNAL_SET,
                                right);
    }
    check_start(SIGNAL, "putmem_signal into what the heap has grown by");
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, due);
    at = differs(place(block, PIECES - 2), left, round, PIECES - 2);
    CHECK(at == PIECE, "round %d: byte %zu has not come with the signal", round, at);
    shmem_barrier_all();
    check_start(PUT, "putmem into what the heap has grown by");
    for (int piece = 0; piece < PIECES - 2; piece++) {
        at = differs(place(block, piece), left, round, piece);
        CHECK(at == PIECE, "round %d, piece %d: byte %zu has not come", round, piece, at);
    }
    check_start(GET, "getmem from what the heap has grown by");
    for (int piece = 0; piece < PIECES - 2; piece++) {
        unsigned char *to = piece % 2 ? local : place(block, PIECES - 1);
        memset(to, 0, PIECE);
        shmem_getmem(to, place(block, piece), PIECE, right);
        at = differs(to, check.me, round, piece);
        CHECK(at == PIECE, "round %d, piece %d: byte %zu does not come back", round, piece, at);
    }
    shmem_barrier_all();
}

int main(void)
{
    static unsigned char local[PIECE];
    check_open("growth", TESTS);
    uint64_t *signal = check_alloc(sizeof *signal);
    *signal = 0;
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++)
        grow(round, signal, local);
    return check_close();
}
