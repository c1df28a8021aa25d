/*
 * classic.cc: statics of C++: of classes and templates, inline, and with constructors; and virtual
 * functions, whose tables stay where they were.
 */
#include <shmem.h>

#include <cstdio>
#include <string>

namespace
{

struct shape {
    virtual ~shape() = default;
    virtual long sides() const = 0;
};
struct triangle : shape {
    long sides() const override
    {
        return 3;
    }
};

triangle figure; // has a pointer to a table
shape *drawn = &figure;
std::string word = "constructed before main, and longer than fits inside";

template <typename T> struct cell {
    static T value[4];
};
template <typename T> T cell<T>::value[4];

struct counts {
    static inline long all = 10;
};

long &function_local()
{
    static long x = 5;
    return x;
}

int bad(const char *what)
{
    std::fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    return 1;
}

} // namespace

int main()
{
    function_local()++;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n,
        rc = 0;
    shmem_long_p(&counts::all, me, right);
    shmem_double_p(&cell<double>::value[3], me + 0.5, right);
    shmem_long_p(&function_local(), me * 2, right);
    shmem_barrier_all();
    if (counts::all != left)
        rc = bad("a static member");
    if (cell<double>::value[3] != left + 0.5 || cell<double>::value[2] != 0)
        rc = bad("a member of a template");
    if (function_local() != left * 2)
        rc = bad("a static of a function");
    if (drawn->sides() != 3 || word.size() != 52)
        rc = bad("an object");
    word += "!";
    shmem_barrier_all();
    if (me == 0 && rc == 0)
        std::printf("symmetric\n");
    shmem_finalize();
    return rc;
}
