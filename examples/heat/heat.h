/*
 * heat.h: the interface of png.c.
 */
#ifndef HEAT_H
#define HEAT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes values from 0 to most as colours, row after row from the top. Reports whether the file
 * was written. */
bool write_png(const char *name, const double *values, size_t width, size_t height, double most);

#endif
