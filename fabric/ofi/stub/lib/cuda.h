/*
 * cuda.h: the provider's use of CUDA (rules.tsv: R21, R22).
 */
#ifndef STUB_CUDA_H
#define STUB_CUDA_H

#include "settings.h"

/* Reports whether the provider has initialised CUDA, which it tries at the first call. */
bool cuda_found(const struct settings *s);
/* Calls CUDA on the current device: in the first fi_getinfo, before 2.1 in each fi_domain. */
void cuda_touch(const struct settings *s);
/* Calls CUDA as the data path does (rules.tsv: R18). */
void cuda_copy(const struct settings *s);

#endif
