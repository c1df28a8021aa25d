// overloads.cc: tests the overloads of C++, for every type. Linked with zz_overloads.cc, which has
// a pointer to each.
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>

#include <cstdio>
#include <cstdlib>

typedef void (*function)();
extern const function overloads[];
extern const int overload_count;

static int checks, wrong;

#define NEED(condition)                                                                            \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s: line %d: %s\n", __PRETTY_FUNCTION__, __LINE__, #condition);  \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

template <class T> static T *place(int n)
{
    return static_cast<T *>(shmem_calloc(static_cast<std::size_t>(n), sizeof(T)));
}

// Each pair of PEs is a PE and its right neighbour.
template <class T> static void moves()
{
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    T *at = place<T>(8), here[4] = {T(3), T(1), T(4), T(1)};
    shmem_put(at, here, 4, right);
    shmem_p(at + 4, T(left), left);
    shmem_put_nbi(at + 5, here, 2, right);
    shmem_barrier_all();
    NEED(at[0] == T(3) && at[2] == T(4) && at[3] == T(1) && at[4] == T(me) && at[5] == T(3));
    T back[4] = {};
    shmem_get(back, at, 3, right);
    shmem_iget(back + 3, at + 2, 1, 1, 1, right);
    NEED(back[0] == T(3) && back[1] == T(1) && back[2] == T(4) && back[3] == T(4));
    NEED(shmem_g(at + 4, right) == T(right));
    NEED(shmem_g(SHMEM_CTX_DEFAULT, at + 4, left) == T(left));
    shmem_barrier_all();
    shmem_broadcast(SHMEM_TEAM_WORLD, at, at + 4, 1, n - 1);
    NEED(at[0] == T(n - 1));
    shmem_max_reduce(SHMEM_TEAM_WORLD, at + 6, at + 4, 1);
    NEED(at[6] == T(n - 1));
    shmem_barrier_all();
    shmem_free(at);
}

template <class T> static void sums()
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    T *at = place<T>(2);
    at[0] = T(me + 1);
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, at + 1, at, 1);
    NEED(at[1] == T(n * (n + 1) / 2));
    shmem_barrier_all();
    shmem_free(at);
}

template <class T> static void atomics()
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    T *at = place<T>(4);
    shmem_atomic_add(at, 3, 0);
    shmem_atomic_inc(SHMEM_CTX_DEFAULT, at, 0);
    shmem_inc(at, 0);
    shmem_barrier_all();
    NEED(shmem_atomic_fetch(at, 0) == T(5 * n));
    NEED(shmem_fetch(at, 0) == T(5 * n));
    NEED(shmem_atomic_swap(at + 1, T(me), me) == T(0) && shmem_swap(at + 1, T(7), me) == T(me));
    NEED(shmem_atomic_compare_swap(at + 1, T(7), T(9), me) == T(7));
    NEED(shmem_fadd(at + 1, 1, me) == T(9) && shmem_atomic_fetch_inc(at + 1, me) == T(10));
    shmem_set(at + 2, T(11), (me + 1) % n);
    shmem_wait_until(at + 2, SHMEM_CMP_EQ, T(11));
    NEED(shmem_test(at + 2, SHMEM_CMP_EQ, 11) &&
         shmem_test_all(at + 2, 1, nullptr, SHMEM_CMP_EQ, 11));
    shmem_barrier_all();
    shmem_free(at);
}

/* C's complex types, which are no types of ISO C++. */
__extension__ typedef double _Complex c_double;
__extension__ typedef float _Complex c_float;

template <class T> static void complex_sums()
{
    int n = shmem_n_pes();
    T *at = place<T>(3);
    __real__ at[0] = 2;
    __imag__ at[0] = 1;
    shmem_barrier_all();
    NEED(shmem_sum_reduce(SHMEM_TEAM_WORLD, at + 1, at, 1) == 0);
    NEED(__real__ at[1] == 2 * n && __imag__ at[1] == n);
    NEED(shmem_prod_reduce(SHMEM_TEAM_WORLD, at + 2, at, 1) == 0);
    NEED(n != 3 || (__real__ at[2] == 2 && __imag__ at[2] == 11));
    NEED(shmem_sum_inscan(SHMEM_TEAM_WORLD, at + 1, at, 1) == 0);
    NEED(shmem_sum_exscan(SHMEM_TEAM_WORLD, at + 2, at, 1) == 0);
    NEED(__real__ at[1] == 2 * shmem_my_pe() + 2 && __imag__ at[2] == shmem_my_pe());
    shmem_barrier_all();
    shmem_free(at);
}

static void complex_names()
{
    int n = shmem_n_pes();
    c_double *at = place<c_double>(2);
    *at = 3;
    shmem_barrier_all();
    NEED(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, at + 1, at, 1) == 0 && at[1] == 3 * n);
    shmem_barrier_all();
    shmem_complexd_sum_to_all(at + 1, at, 1, 0, 0, n, static_cast<c_double *>(nullptr), nullptr);
    NEED(at[1] == 3 * n);
    shmem_barrier_all();
    shmem_free(at);
}

static void shorts()
{
    short *at = place<short>(1);
    shmem_p(at, short(7), (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_wait_until(at, SHMEM_CMP_EQ, short(7));
    NEED(shmem_test(at, SHMEM_CMP_EQ, short(7)) && !shmem_test(at, SHMEM_CMP_NE, short(7)));
    shmem_barrier_all();
    shmem_free(at);
}

static void signals()
{
    uint64_t *at = place<uint64_t>(1);
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_signal_set(SHMEM_CTX_DEFAULT, at, 5, right);
    NEED(shmem_signal_wait_until(at, SHMEM_CMP_NE, 0) == 5);
    shmem_barrier_all();
    shmem_signal_add(SHMEM_CTX_DEFAULT, at, 3, right);
    shmem_signal_add(at, 1, right);
    NEED(shmem_signal_wait_until(at, SHMEM_CMP_EQ, 9) == 9);
    shmem_barrier_all();
    shmem_free(at);
}

int main()
{
    shmem_init();
    moves<float>(), moves<double>(), moves<long double>();
    moves<char>(), moves<signed char>(), moves<short>(), moves<int>(), moves<long>();
    moves<long long>(), moves<unsigned char>(), moves<unsigned short>(), moves<unsigned>();
    moves<unsigned long>(), moves<unsigned long long>(), moves<std::size_t>(),
        moves<std::ptrdiff_t>();
    sums<std::complex<float>>(), sums<std::complex<double>>(), sums<double>(), sums<short>();
    complex_sums<c_float>(), complex_sums<c_double>(), complex_names();
    shorts(), signals();
    atomics<int>(), atomics<long>(), atomics<long long>(), atomics<unsigned>();
    atomics<unsigned long>(), atomics<unsigned long long>();
    NEED(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    for (int i = 0; i < overload_count; i++)
        NEED(overloads[i] != nullptr);
    if (shmem_my_pe() == 0)
        std::printf("%d checks\n", checks);
    shmem_finalize();
    return wrong != 0;
}
