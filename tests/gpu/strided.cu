/*
 * strided.cu: each strided put and get, in each type and size, by a thread, a warp and a block: the
 * data that arrives, and that no byte between changes.
 *
 * shmemrun -n 2 strided
 */
#include "try.h"

namespace kernels
{

constexpr int SHAPES = 5;
constexpr size_t ROOM = 128 * 16; /* of a shape: 128 elements of 16 bytes are the largest */
constexpr size_t ALL = SHAPES * ROOM;

struct shape {
    ptrdiff_t dst, sst;
    size_t n;
};
BOTH shape shape_of(int i)
{
    const shape shapes[SHAPES] = {{1, 1, 9}, {3, 2, 40}, {1, 5, 20}, {7, 1, 1}, {2, 3, 0}};
    return shapes[i];
}

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_iput(ID) TEST_iget(ID)
};

/* Each name in a function of its own, as in rma.cu. */
#define CALL(name, T, bytes, scope)                                                                \
    STEP call_##name(char *dest, const char *source, shape s, int pe)                              \
    {                                                                                              \
        (name)((T *)dest, (const T *)source, s.dst, s.sst, s.n, pe);                               \
    }
TEST_iput(CALL) TEST_iget(CALL)
#undef CALL

    KERNEL move_all(int id, char *dest, const char *source, int pe)
{
    ONE_BY_ONE
    for (int i = 0; i < SHAPES; i++) {
        size_t at = (size_t)i * ROOM;
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        call_##name(dest + at, source + at, shape_of(i), pe);                                      \
        break;
            TEST_iput(CASE) TEST_iget(CASE)
#undef CASE
        }
    }
    if (threadIdx.x == 0)
        LIB(quiet)();
}

/* Whether each byte is one of PE pe's where an element arrives, and is unchanged elsewhere. */
void look(const char *at, const row &r, int pe)
{
    std::vector<char> have(ALL);
    copy_memory(have.data(), at, ALL);
    for (int i = 0; i < SHAPES; i++) {
        shape s = shape_of(i);
        size_t bad = 0;
        for (size_t k = 0; k < ROOM; k++) {
            size_t element = k / r.bytes, which = element / (size_t)s.dst;
            bool inside = element % (size_t)s.dst == 0 && which < s.n;
            size_t from = which * (size_t)s.sst * r.bytes + k % r.bytes;
            bad += (unsigned char)have[(size_t)i * ROOM + k] != (inside ? pattern(pe, i, from) : 0);
        }
        expect(bad == 0, std::string(r.name) + ": shape " + std::to_string(i) + ": " +
                             std::to_string(bad) + " wrong bytes");
    }
}

void run(void)
{
    char *dest = (char *)LIB(align)(128, ALL), *source = (char *)LIB(align)(128, ALL);
    char *local = own_memory(ALL), *given = own_memory(ALL);
    std::vector<char> clear(ALL, 0), made(ALL);
    for (size_t k = 0; k < ALL; k++)
        made[k] = (char)pattern(me, (int)(k / ROOM), k % ROOM);
    copy_memory(source, made.data(), ALL);
    copy_memory(given, made.data(), ALL);
    const row rows[] = {TEST_iput(ROW) TEST_iget(ROW)};
    for (const row &r : rows) {
        bool put = strstr(r.name, "iput");
        called(r.name);
        copy_memory(dest, clear.data(), ALL);
        copy_memory(local, clear.data(), ALL);
        LIB(barrier_all)();
        LAUNCH(threads_of(r.scope), move_all, r.id, put ? dest : local, put ? given : source,
               next_pe);
        LIB(barrier_all)();
        look(put ? dest : local, r, put ? last_pe : next_pe);
    }
}

} // namespace kernels

int main(void)
{
    begin("strided");
    kernels::run();
    return end();
}
