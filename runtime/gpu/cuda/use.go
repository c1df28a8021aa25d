package cuda

/*
#include "driver.h"
*/
import "C"

// Use makes this GPU current in the calling thread of the operating system, as cudaSetDevice does:
// if a program has chosen no GPU, its next work runs on the GPU of its PE. The context stays
// current when the library ends.
func (v *Device) Use() error {
	return v.fail("make this thread use", "cuCtxPushCurrent_v2", C.shmemi_cuda_context_push(v.driver.table, v.context))
}
