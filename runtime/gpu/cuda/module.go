package cuda

/*
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Module is loaded device code, a CUmodule.
type Module struct {
	device *Device
	handle unsafe.Pointer
}

// Function is a kernel of a Module, a CUfunction.
type Function uintptr

// LoadModule loads device code, a fat binary, a cubin, or PTX, into the context of this Device.
func (v *Device) LoadModule(image []byte) (*Module, error) {
	if len(image) == 0 {
		return nil, &shmerr.Error{Op: "load device code on", Object: v.name, Cause: shmerr.Causef(shmerr.ErrArgument, "the image is empty")}
	}
	// The driver needs a zero byte at the end of PTX, and ignores it after other code. The limit of
	// the slice makes append copy the image, so that no byte behind it changes.
	code := C.CBytes(append(image[:len(image):len(image)], 0))
	defer C.free(code)
	m := &Module{device: v}
	err := v.create("load device code on", func() (string, C.int) {
		return "cuModuleLoadData", C.shmemi_cuda_module_load(v.driver.table, &m.handle, code)
	}, m.Close)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Close unloads the code, none of whose kernels may be running.
func (m *Module) Close() error {
	return m.device.freeObject("unload device code of", func() (string, C.int) {
		return "cuModuleUnload", C.shmemi_cuda_module_unload(m.device.driver.table, m.handle)
	})
}

// Function finds a kernel by its name in the code.
func (m *Module) Function(name string) (Function, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f unsafe.Pointer
	err := m.device.do(fmt.Sprintf("find kernel %s on", name), func() (string, C.int) {
		return "cuModuleGetFunction", C.shmemi_cuda_module_function(m.device.driver.table, &f, m.handle, text)
	})
	return Function(uintptr(f)), err
}

// Global finds a variable by its name in the code, and returns its address and size.
func (m *Module) Global(name string) (gpu.Address, uint64, error) {
	return m.device.ModuleGlobal(m.handle, name)
}

// ModuleGlobal finds a variable of a module that the program has loaded, a CUmodule, and returns
// its address and size.
func (v *Device) ModuleGlobal(module unsafe.Pointer, name string) (gpu.Address, uint64, error) {
	return v.global(name, func(at *C.uint64_t, n *C.size_t, text *C.char) (string, C.int) {
		return "cuModuleGetGlobal_v2", C.shmemi_cuda_module_global(v.driver.table, at, n, module, text)
	})
}

// LibraryGlobal finds a variable of a library that the program has loaded, a CUlibrary, and returns
// its address and size.
func (v *Device) LibraryGlobal(library unsafe.Pointer, name string) (gpu.Address, uint64, error) {
	if v.driver.table.library_global == nil {
		return 0, 0, &shmerr.Error{
			Op: globalOp(name), Object: v.name, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no function cuLibraryGetGlobal", v.driver.Version),
			Remedy: "install a driver of CUDA 12.0 or later",
		}
	}
	return v.global(name, func(at *C.uint64_t, n *C.size_t, text *C.char) (string, C.int) {
		return "cuLibraryGetGlobal", C.shmemi_cuda_library_global(v.driver.table, at, n, library, text)
	})
}

// globalOp returns the operation of an error: the search for a variable of device code.
func globalOp(name string) string { return fmt.Sprintf("find variable %s on", name) }

// global finds a variable of device code by its name, and returns its address and size. call is the
// driver call that finds it.
func (v *Device) global(name string, call func(*C.uint64_t, *C.size_t, *C.char) (string, C.int)) (gpu.Address, uint64, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var at C.uint64_t
	var n C.size_t
	err := v.do(globalOp(name), func() (string, C.int) { return call(&at, &n, text) })
	return gpu.Address(at), uint64(n), err
}

// Grid is the size of a launch: blocks, threads of a block, and bytes of
// dynamic shared memory.
type Grid struct {
	Blocks, Threads [3]uint32
	Shared          uint32
}

// Launch launches a kernel on a stream. The arguments are the kernel's parameters in
// their order, as bytes; Launch copies them before it returns.
func (v *Device) Launch(f Function, g Grid, s gpu.Stream, arguments ...[]byte) error {
	var pinner runtime.Pinner // C gets a list of pointers to Go's memory
	defer pinner.Unpin()
	list := make([]unsafe.Pointer, len(arguments)+1) // one more, so that list[0] always exists
	for i, a := range arguments {
		list[i] = unsafe.Pointer(unsafe.SliceData(a))
		pinner.Pin(list[i])
	}
	return v.do("launch a kernel on", func() (string, C.int) {
		return "cuLaunchKernel", C.shmemi_cuda_launch(v.driver.table, handle(f),
			C.uint(g.Blocks[0]), C.uint(g.Blocks[1]), C.uint(g.Blocks[2]), C.uint(g.Threads[0]), C.uint(g.Threads[1]), C.uint(g.Threads[2]),
			C.uint(g.Shared), handle(s), &list[0], nil)
	})
}
