package cuda

/*
#include "driver.h"
*/
import "C"

import "unsafe"

// Native is what a caller in C needs to copy by itself: the driver's functions
// and the context that they run in. A copy of 8 bytes takes 6.5 us of the driver,
// and 11 with the way through Go.
type Native struct {
	Context unsafe.Pointer
	Push    unsafe.Pointer // int push(void *context)
	Pop     unsafe.Pointer // int pop(void **context)
	Mode    unsafe.Pointer // int mode(int *mode), see withLocked
	Relaxed int            // one of its modes
	Copy    unsafe.Pointer // int copy(uint64_t to, uint64_t from, size_t n, void *stream)
	Wait    unsafe.Pointer // int wait(void *stream)
	Marks   unsafe.Pointer // struct shmemi_cuda_marks, for shmemi_cuda_begin
}

// Native returns them. They are good until Close.
func (v *Device) Native() Native {
	t := v.driver.table
	return Native{
		Context: v.context,
		Push:    unsafe.Pointer(t.context_push), Pop: unsafe.Pointer(t.context_pop), Mode: unsafe.Pointer(t.capture_mode), Relaxed: C.SHMEMI_CUDA_CAPTURE_RELAXED,
		Copy: unsafe.Pointer(t.copy_any), Wait: unsafe.Pointer(t.stream_wait), Marks: unsafe.Pointer(t.marks),
	}
}
