/*
 * rows.h: the output of the programs in this folder: lines with a JSON object each. A row has the
 * median of repetitions, their minimum and their maximum.
 */
#ifndef BENCH_GPU_ROWS_H
#define BENCH_GPU_ROWS_H

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Ends the program with a message.
[[noreturn]] static inline void give_up(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    fflush(stderr);
    _Exit(1);
}

// Ends the program with a message if a call of CUDA has failed.
static inline void need(cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        give_up(what, cudaGetErrorString(e));
}

// What a row is about. bytes, ctas and threads are 0 if they do not apply.
struct figure {
    const char *name;
    const char *how; // scope or variant
    size_t bytes;
    int ctas;
    int threads;
    const char *unit;
};

// The value of an environment variable, or otherwise if it is unset or empty.
static inline const char *setting(const char *name, const char *otherwise)
{
    const char *v = getenv(name);
    return v != nullptr && *v != 0 ? v : otherwise;
}

// Prints a row of the values v. The variables BENCH_SYSTEM and BENCH_ROUTE replace the name of the
// library and the path of the bytes (p2p: loads and stores).
static inline void row(const char *system, const figure &f, std::vector<double> v)
{
    if (v.empty())
        give_up(f.name, "no values");
    std::sort(v.begin(), v.end());
    printf("{\"system\":\"%s\",\"route\":\"%s\",\"figure\":\"%s\",\"how\":\"%s\",\"bytes\":%zu,"
           "\"ctas\":%d,\"threads\":%d,\"value\":%.6g,\"min\":%.6g,\"max\":%.6g,\"n\":%zu,"
           "\"unit\":\"%s\"}\n",
           setting("BENCH_SYSTEM", system), setting("BENCH_ROUTE", "p2p"), f.name, f.how, f.bytes,
           f.ctas, f.threads, v[v.size() / 2], v.front(), v.back(), v.size(), f.unit);
    fflush(stdout);
}

// Takes the arguments apart: numbers are sizes in bytes, and other words name parts of the program.
static inline void arguments(int argc, char **argv, size_t largest, std::vector<std::string> &names,
                             std::vector<size_t> &sizes)
{
    for (int i = 1; i < argc; ++i) {
        size_t bytes = strtoull(argv[i], nullptr, 0);
        if (bytes > largest)
            give_up(argv[i], ("larger than " + std::to_string(largest) + " bytes").c_str());
        if (bytes > 0)
            sizes.push_back(bytes);
        else
            names.push_back(argv[i]);
    }
}

// Reports whether the arguments select this part of the program. Without arguments all are.
static inline bool wanted(const std::vector<std::string> &names, const char *name)
{
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

#endif
