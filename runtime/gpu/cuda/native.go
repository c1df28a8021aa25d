package cuda

/*
#include "driver.h"
*/
import "C"

import "unsafe"

// Native has the driver's functions and their context for a caller in C that copies by itself. A
// copy of 8 bytes takes 6.5 us of the driver, and 11 through Go.
type Native struct {
	Context unsafe.Pointer
	Driver  unsafe.Pointer // struct shmemi_cuda, to be copied: it is Go's
}

// Native returns them. They are good until Close.
func (v *Device) Native() Native {
	return Native{v.context, unsafe.Pointer(v.driver.table)}
}
