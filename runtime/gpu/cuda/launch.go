package cuda

/*
#include "driver.h"

// A kernel with one parameter. The list of parameters for the driver is made here: one of Go's
// could not hold the pointer without pinning it.
static inline struct shmemi_cuda_outcome launch_one(const struct shmemi_cuda *driver, void *within, void *function,
                                                    unsigned blocks, unsigned threads, void *stream, void *argument)
{
    void *arguments[1] = {argument};
    return shmemi_cuda_in_launch(driver, within, function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/gpu"
)

// LaunchOne is Launch for a kernel with one parameter and a grid of one
// dimension, without an allocation: programs have streams launch the library's
// kernels one after the other. The argument is copied before it returns, and has
// no pointers of Go's in it.
func (v *Device) LaunchOne(f Function, blocks, threads uint32, s gpu.Stream, argument unsafe.Pointer) error {
	const op = "launch a kernel on"
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuLaunchKernel", C.launch_one(v.driver.table, v.context, handle(f), C.uint(blocks), C.uint(threads), handle(s), argument))
}
