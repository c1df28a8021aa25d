/*
 * unit.h: how the job reaches the kernels of a translation unit.
 *
 * Each translation unit that includes shmem.cuh has a copy of the job's state in the GPU's constant
 * memory, in a symbol of its own: without -rdc no symbol of device code is shared. The unit
 * registers itself with libshmem.so, before main or when its library is loaded. libshmem.so fills
 * the copy when the job has a heap, and clears it when the job ends. The function that copies is
 * compiled in the unit, because only the CUDA runtime that the unit is linked with, which may be a
 * static one, knows the symbol.
 *
 * Modules that are loaded at run time have no host code. Their symbol is also called shmemi_here,
 * and the code that loads them copies the same bytes to it.
 */
#ifndef SHMEM_UNIT_H
#define SHMEM_UNIT_H

#include "zz_wire.h"

/*
 * The contents of the symbol: the state, and a second copy of the addresses of the first PEs. These
 * addresses are in constant memory because a fence empties the first-level cache but not the
 * constant one: a put after each fence would wait for the second level each time, 0.15 us of the
 * 0.96 us that a store and a fence take.
 */
struct shmemi_device_image {
    struct shmemi_device_state job;
    /* Where the segment of PE 0, 1, ... is mapped, or 0: shmemi_device_peer.direct. All 0 if
     * job.checks is 2 (SHMEM_CHECKS=full): an operation then checks its range instead of taking
     * the fast path of these addresses (shmemi_plain). */
    uint64_t direct[SHMEMI_IMAGE_PES];
};
SHMEMI_WIRE_ASSERT(sizeof(struct shmemi_device_image) ==
                       sizeof(struct shmemi_device_state) + 8 * SHMEMI_IMAGE_PES,
                   sizeof_device_image);

/*
 * What a translation unit registers with libshmem.so. The unit owns it; libshmem.so writes only
 * next, which links the registered units.
 */
struct shmemi_unit {
    uint32_t version;    /* of the layout, SHMEMI_WIRE_VERSION */
    uint32_t size;       /* of this struct */
    uint32_t state_size; /* of struct shmemi_device_state */
    uint32_t image_size; /* of struct shmemi_device_image */
    const char *file;    /* the unit's source, for messages */
    /* Copies the image, or zeros where it is NULL, to the symbol on a device of
     * the CUDA runtime's numbering. Returns 0 or the runtime's error. */
    int (*set)(const struct shmemi_device_image *image, int device);
    const char *(*why)(int error); /* the runtime's text for an error of set */
    struct shmemi_unit *next;
};

/*
 * Programs that use another set of names, such as NVSHMEM's, link only with the library of that
 * set, which exports these functions under names of its own.
 */
#ifndef SHMEMI_DEVICE_REGISTER
#define SHMEMI_DEVICE_REGISTER shmemi_device_register
#define SHMEMI_DEVICE_UNREGISTER shmemi_device_unregister
#endif

#ifndef __CUDACC_RTC__
#ifdef __cplusplus
extern "C" {
#endif
/*
 * Registers a unit. If the job has its heap already, the unit is filled at once. Ends the job with
 * a message when the layouts differ.
 */
void SHMEMI_DEVICE_REGISTER(struct shmemi_unit *unit);
/* Removes a unit whose library is about to be unloaded from the list. */
void SHMEMI_DEVICE_UNREGISTER(struct shmemi_unit *unit);
#ifdef __cplusplus
}
#endif
#endif

#ifdef __CUDACC__
/*
 * This unit's copy of the job's state. While it is all zero, there is no job and no PE, so that
 * every operation finds its PE out of range. NVRTC has no host code that would name the symbol, so
 * there it is global, to be found by its name.
 */
#ifdef __CUDACC_RTC__
extern "C" {
__constant__ struct shmemi_device_image shmemi_here;
}
#else
static __constant__ struct shmemi_device_image shmemi_here;
#endif
#endif

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cuda_runtime_api.h>

/*
 * Copies the image, or zeros where it is NULL, to this unit's symbol on a device. It uses a stream
 * of its own: on the default stream the copy would wait for every kernel that runs, and one of
 * those may wait for a peer. Returns 0, or the first error before or in the copy; an error of the
 * steps that clean up after it is dropped.
 */
static inline int shmemi_unit_set(const struct shmemi_device_image *image, int device)
{
    static const struct shmemi_device_image none = {};
    int before = 0;
    cudaStream_t stream;
    cudaError_t error = cudaGetDevice(&before);
    if (error != cudaSuccess)
        return (int)error;
    error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cudaMemcpyToSymbolAsync(shmemi_here, image != NULL ? image : &none, sizeof none, 0,
                                        cudaMemcpyHostToDevice, stream);
        cudaError_t end = cudaStreamSynchronize(stream);
        error = error == cudaSuccess ? end : error;
        (void)cudaStreamDestroy(stream);
    }
    (void)cudaSetDevice(before);
    return (int)error;
}

/* Returns the CUDA runtime's text for an error of shmemi_unit_set. */
static inline const char *shmemi_unit_why(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

/*
 * Returns this unit's record for libshmem.so, with which the functions below register the unit
 * while its code is loaded. All of them are static: the linker or the loader must not take one
 * unit's function for another's. A C++ initialiser registers the unit, not a function with the
 * attribute constructor: such functions run in the order of the text, and the one by which nvcc
 * makes the unit's kernels known to CUDA is at the end of the text.
 */
static inline struct shmemi_unit *shmemi_unit(void)
{
    static struct shmemi_unit unit = {SHMEMI_WIRE_VERSION,
                                      (uint32_t)sizeof(struct shmemi_unit),
                                      (uint32_t)sizeof(struct shmemi_device_state),
                                      (uint32_t)sizeof(struct shmemi_device_image),
                                      __BASE_FILE__,
                                      shmemi_unit_set,
                                      shmemi_unit_why,
                                      NULL};
    return &unit;
}

/* Registers the unit with libshmem.so when the program or its library is loaded. The value only
 * makes the call an initialiser. */
static inline int shmemi_unit_begin(void)
{
    SHMEMI_DEVICE_REGISTER(shmemi_unit());
    return 1;
}
static const int shmemi_unit_begun __attribute__((unused)) = shmemi_unit_begin();

/* Tells libshmem.so that the unit's library is about to be unloaded. */
static __attribute__((destructor)) void shmemi_unit_end(void)
{
    SHMEMI_DEVICE_UNREGISTER(shmemi_unit());
}
#endif

#endif
