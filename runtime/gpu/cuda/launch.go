package cuda

/*
#include "driver.h"

// launch_one launches a kernel with one parameter. It makes the driver's list of parameters here:
// in Go, the list could not hold the pointer without pinning it.
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

// LaunchOne launches, on a stream, a kernel with one parameter and a grid of one
// dimension. Unlike Launch it allocates nothing: programs launch the library's
// kernels in quick succession. It copies the argument, which must hold no Go
// pointers, before it returns.
func (v *Device) LaunchOne(f Function, blocks, threads uint32, s gpu.Stream, argument unsafe.Pointer) error {
	const op = "launch a kernel on"
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuLaunchKernel", C.launch_one(v.driver.table, v.context, handle(f), C.uint(blocks), C.uint(threads), handle(s), argument))
}
