package cuda

/*
#cgo CFLAGS: -I${SRCDIR}/../../../abi -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "driver.h"
#include "gdr.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// The file names that the two libraries have had since the first version of this interface.
const (
	driverName = "libcuda.so.1"
	gdrName    = "libgdrapi.so.2"
)

// oldest is the oldest driver that this package supports: the first with all needed functions.
const oldest = Version(11000)

// Version is a version of CUDA as the driver counts: 13010 is 13.1.
type Version int

// String returns the version as users know it: 13.1 for 13010.
func (v Version) String() string { return fmt.Sprintf("%d.%d", int(v)/1000, int(v)%1000/10) }

// Driver is the CUDA driver of this process.
type Driver struct {
	File    string  // the file that it was loaded from
	Version Version // the version of CUDA
	Count   int     // how many GPUs this process may use, at least one

	table *C.struct_shmemi_cuda
	gdr   func() (*gdrCopy, error)
}

// loaded is the driver that Open has started; nil: none yet.
var loaded struct {
	sync.Mutex
	driver *Driver
}

// Open loads and starts the driver, which cannot be unloaded: later calls return the
// same Driver. After a failure a later call tries again.
func Open() (*Driver, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.driver == nil {
		d, err := open(driverName, gdrName)
		if err != nil {
			return nil, err
		}
		loaded.driver = d
	}
	return loaded.driver, nil
}

// open loads the driver from that file and starts it. GDRCopy is loaded when it is first needed.
func open(driverFile, gdrFile string) (_ *Driver, err error) {
	library, err := openLibrary(driverFile, "install NVIDIA's driver; in a container, start it with the GPUs of the host")
	if err != nil {
		return nil, err
	}
	table := newTable()
	defer func() {
		if err != nil {
			freeTable(table) // also if it is nil
		}
	}()
	d := &Driver{File: C.GoString(C.shmemi_cuda_library_file(library)), table: table}
	if table == nil {
		C.shmemi_cuda_close_library(library)
		return nil, &shmerr.Error{Op: "load", Object: d.File, Cause: shmerr.ErrNoMemory, Remedy: "free memory of the host"}
	}
	if missing := C.shmemi_cuda_bind(d.table, library); missing != nil {
		C.shmemi_cuda_close_library(library)
		return nil, &shmerr.Error{
			Op: "load", Object: driverFile, Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%s has no function %s", d.File, C.GoString(missing)),
			Remedy: "install a driver of CUDA " + oldest.String() + " or later",
		}
	}
	var version, count C.int
	if err := d.fail("load", driverFile, "cuDriverGetVersion", C.shmemi_cuda_driver_version(d.table, &version)); err != nil {
		C.shmemi_cuda_close_library(library)
		return nil, err
	}
	if d.Version = Version(version); d.Version < oldest {
		C.shmemi_cuda_close_library(library)
		return nil, &shmerr.Error{
			Op: "load", Object: driverFile, Cause: shmerr.Causef(shmerr.ErrVersion, "%s is of CUDA %s, older than %s", d.File, d.Version, oldest),
			Remedy: "install a newer driver",
		}
	}
	// From here on the library stays loaded, also after an error: it may have started threads.
	if err := d.fail("start", d.File, "cuInit", C.shmemi_cuda_init(d.table, 0)); err != nil {
		return nil, err
	}
	if err := d.fail("count", "the GPUs", "cuDeviceGetCount", C.shmemi_cuda_device_count(d.table, &count)); err != nil {
		return nil, err
	}
	if d.Count = int(count); d.Count < 1 {
		none := &CallError{Code: C.SHMEMI_CUDA_NO_DEVICE}
		return nil, &shmerr.Error{Op: "count", Object: "the GPUs", Cause: shmerr.Causef(none.Unwrap(), "there is none"), Remedy: none.remedy()}
	}
	d.gdr = sync.OnceValues(func() (*gdrCopy, error) { return openGDR(gdrFile) })
	return d, nil
}

// openLibrary loads a shared library. Its error names the file and the loader's reason.
func openLibrary(file, remedy string) (unsafe.Pointer, error) {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	library := C.shmemi_cuda_open_library(name, &why[0], C.size_t(len(why)))
	if library == nil {
		reason := strings.TrimPrefix(C.GoString(&why[0]), file+": ")
		return nil, &shmerr.Error{Op: "load", Object: file, Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%s", reason), Remedy: remedy}
	}
	return library, nil
}

// errClosed is the cause of every error after Device.Close.
var errClosed = errors.New("it is closed")
