package cuda

/*
#include "driver.h"
#include "gdr.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// gdrCopy is the loaded library of GDRCopy, which maps GPU memory for the CPU.
type gdrCopy struct {
	table   *C.struct_shmemi_gdr
	version string
}

// openGDR loads GDRCopy's library, by which the CPU maps GPU memory through the BAR, and finds its
// functions.
func openGDR(file string) (*gdrCopy, error) {
	const install = "install GDRCopy 2 and load its kernel module gdrdrv"
	library, err := openLibrary(file, install)
	if err != nil {
		return nil, err
	}
	g := &gdrCopy{table: new(C.struct_shmemi_gdr)}
	if missing := C.shmemi_gdr_bind(g.table, library); missing != nil {
		path := C.GoString(C.shmemi_cuda_library_file(library))
		name := C.GoString(missing)
		C.shmemi_cuda_close_library(library)
		return nil, &shmerr.Error{Op: "load", Object: file, Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%s has no function %s", path, name), Remedy: install}
	}
	var major, minor C.int
	C.shmemi_gdr_version(g.table, &major, &minor)
	g.version = fmt.Sprintf("%d.%d", major, minor)
	return g, nil
}

// MapGDRCopy maps n bytes of GPU memory at a for the CPU, by GDRCopy.
func (v *Device) MapGDRCopy(a gpu.Address, n uint64) (*gpu.Mapping, error) {
	g, err := v.driver.gdr()
	if err != nil {
		return nil, err
	}
	var m C.struct_shmemi_gdr_mapping
	// GDRCopy may call the driver, so the context has to be current.
	if err := v.with("map memory of", func() error {
		var code C.int
		failed := C.shmemi_gdr_map(g.table, C.uint64_t(a), C.size_t(n), &m, &code)
		return v.gdrError("map memory of", failed, code)
	}); err != nil {
		if m.host != nil { // gdr_map succeeded, and then the context could not be popped
			err = errors.Join(err, v.gdrUnmap(g, &m))
		}
		return nil, err
	}
	return &gpu.Mapping{
		Host: m.host, Method: "GDRCopy " + g.version, Combining: m.combining != 0,
		Unmap: func() error { return v.gdrUnmap(g, &m) },
	}, nil
}

// gdrUnmap unmaps memory of the GPU that gdrcopy has mapped for the CPU.
func (v *Device) gdrUnmap(g *gdrCopy, m *C.struct_shmemi_gdr_mapping) error {
	var code C.int
	failed := C.shmemi_gdr_unmap(g.table, m, &code)
	return v.gdrError("unmap memory of", failed, code)
}

// gdrError returns the error of a function of GDRCopy that failed, or nil if failed is nil.
func (v *Device) gdrError(op string, failed *C.char, code C.int) error {
	if failed == nil {
		return nil
	}
	why := "the kernel module gdrdrv does not answer"
	if code != 0 {
		why = unix.Errno(code).Error()
	}
	return &shmerr.Error{
		Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrSystem, "%s: %s", C.GoString(failed), why),
		Remedy: "load the kernel module gdrdrv and allow /dev/gdrdrv to be opened",
	}
}

// ExportDMABuf makes a dma-buf of GPU memory, for a NIC or for mmap, and returns its
// descriptor. Both a and n must be multiples of the CPU's page size, and all of the
// range must have memory. The memory stays allocated until the caller closes the
// descriptor.
func (v *Device) ExportDMABuf(a gpu.Address, n uint64) (int, error) {
	return v.exportDMABuf("export memory of", a, n)
}

// exportDMABuf returns a file descriptor (dma-buf) of n bytes of GPU memory, by which a NIC
// registers them or the CPU maps them. The caller closes it.
func (v *Device) exportDMABuf(op string, a gpu.Address, n uint64) (int, error) {
	if v.driver.table.export == nil {
		return -1, &shmerr.Error{
			Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no function cuMemGetHandleForAddressRange", v.driver.Version),
			Remedy: "install a driver of CUDA 11.7 or later",
		}
	}
	fd := C.int(-1)
	err := v.create(op, func() (string, C.int) {
		return "cuMemGetHandleForAddressRange", C.shmemi_cuda_export(v.driver.table, unsafe.Pointer(&fd), C.uint64_t(a), C.size_t(n), C.SHMEMI_CUDA_DMA_BUF_FD, 0)
	}, func() error { return unix.Close(int(fd)) })
	return int(fd), err
}

// MapDMABuf exports GPU memory as a dma-buf and maps that for the CPU. The mapping
// keeps the memory allocated, so MapDMABuf closes the descriptor.
func (v *Device) MapDMABuf(a gpu.Address, n uint64) (*gpu.Mapping, error) {
	const op = "map memory of"
	fd, err := v.exportDMABuf(op, a, n)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	host, err := unix.MmapPtr(fd, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrSystem, "mmap of a dma-buf: %w", err), Remedy: "install a driver of CUDA 13.3 or later"}
	}
	return &gpu.Mapping{
		Host: host, Method: "dma-buf",
		// Write-combined on x86-64: cuda.h, at cuMemGetHandleForAddressRange.
		Combining: true,
		Unmap:     func() error { return unix.MunmapPtr(host, uintptr(n)) },
	}, nil
}
