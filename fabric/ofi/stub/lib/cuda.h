/*
 * cuda.h: the provider's use of CUDA (R21, R22).
 */
#ifndef STUB_CUDA_H
#define STUB_CUDA_H

#include "settings.h"

/* Whether the provider has initialised CUDA, which it tries when it is asked for the first time. */
bool cuda_found(const struct settings *s);
/* A call on the current device: in the first fi_getinfo from 2.1 on, in each fi_domain before. */
void cuda_touch(const struct settings *s);
/* A call of the data path (R18). */
void cuda_copy(const struct settings *s);

#endif
