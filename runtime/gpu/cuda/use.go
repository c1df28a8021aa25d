package cuda

/*
#include "driver.h"
*/
import "C"

// Use makes the GPU that of the calling thread of the operating system, see Driver.Current, as
// cudaSetDevice does: the next work of a program that has chosen no GPU then runs where its PE is.
// The context stays when the library ends.
func (v *Device) Use() error {
	return v.fail("make this thread use", "cuCtxPushCurrent_v2", C.shmemi_cuda_context_push(v.driver.table, v.context))
}
