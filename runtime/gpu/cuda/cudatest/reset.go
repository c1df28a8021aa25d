package cudatest

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static int reset(const char *file, int device)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int (*call)(int) = NULL;
    if (library != NULL)
        *(void **)&call = dlsym(library, "cuDevicePrimaryCtxReset_v2");
    return call != NULL ? call(device) : -1;
}
*/
import "C"

import "unsafe"

// reset resets a GPU of the driver in that file. It returns the driver's result, or -1 if this
// process has not loaded the file, or the driver has no cuDevicePrimaryCtxReset_v2.
func reset(file string, number int) int {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	return int(C.reset(name, C.int(number)))
}
