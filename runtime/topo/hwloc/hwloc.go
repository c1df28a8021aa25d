package hwloc

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"libshmem/runtime/shmerr"
	"libshmem/runtime/topo"
)

// soname is the soname of every version 2 of hwloc.
const soname = "libhwloc.so.15"

// The versions whose text runtime/topo reads.
const (
	oldest = 0x200
	newest = 0x2ff
)

var (
	mu      sync.Mutex
	version uint // of the library that is open; 0: none
)

// Read returns a description of this machine by hwloc. If hwloc cannot be loaded, the error is of
// the kind shmerr.ErrNoLibrary.
func Read() (*topo.Machine, error) {
	mu.Lock()
	defer mu.Unlock()
	return read(soname)
}

// read loads the library hwloc, unless it is loaded, and describes this machine: hwloc writes XML,
// which topo reads. The caller holds mu.
func read(file string) (*topo.Machine, error) {
	if version == 0 {
		v, err := open(file)
		if err != nil {
			return nil, &shmerr.Error{
				Op: "load", Object: "hwloc", Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%w", err),
				Remedy: "install hwloc 2, for example libhwloc15 on Debian",
			}
		}
		version = v
	}
	source := fmt.Sprintf("this machine, hwloc %d.%d", version>>8, version&0xff)
	var n C.int
	var step *C.char
	text, err := C.shmemi_hwloc_read(&n, &step)
	if text == nil {
		return nil, &shmerr.Error{
			Op: "read topology", Object: source, Cause: shmerr.Causef(shmerr.ErrSystem, "%s: %w", C.GoString(step), err),
			Remedy: "see whether lstopo works, and unset HWLOC_ variables",
		}
	}
	defer C.shmemi_hwloc_free(text)
	return topo.ReadXML(C.GoBytes(unsafe.Pointer(text), max(0, n-1)), source)
}

// open opens the library, and returns its version, major<<8 + minor.
func open(file string) (uint, error) {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	v := uint(C.shmemi_hwloc_open(name, &why[0], C.size_t(len(why))))
	switch {
	case v == 0:
		return 0, errors.New(C.GoString(&why[0]))
	case v < oldest || v > newest:
		return 0, fmt.Errorf("%s is version %d.%d, expected 2", file, v>>8, v&0xff)
	}
	return v, nil
}
