/*
 * check.h: counts passed and failed checks for a program that has those two variables and its
 * number in me.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (condition) {                                                                           \
            passed++;                                                                              \
        } else {                                                                                   \
            failed++;                                                                              \
            fprintf(stderr, "PE %d, line %d: ", me, __LINE__);                                     \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

#endif
