package ofi

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -I${SRCDIR}/../../abi
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// soname is the file name of every libfabric 1.x and 2.x: all have kept one binary interface.
const soname = "libfabric.so.1"

// places lists where to search for libfabric: the loader's path, then the directories of vendors.
var places = []string{
	soname,
	"/opt/amazon/efa/lib/" + soname,
	"/opt/amazon/efa/lib64/" + soname,
	"/opt/cray/libfabric/*/lib64/" + soname,
	"/opt/cray/pe/lib64/" + soname,
}

// Oldest and newest version of libfabric's interface that this package was written for.
const (
	oldest = 1<<16 | 11
	newest = 1<<16 | 20
)

// Library is the libfabric of this process.
type Library struct {
	File    string     // that it was loaded from
	Version string     // of the library, as "1.17"
	number  uint32     // the same, as libfabric numbers versions
	api     C.uint32_t // version of the interface that this package uses
}

// loaded is the libfabric that Load has opened; nil: none yet.
var loaded struct {
	sync.Mutex
	lib *Library
}

// Load opens libfabric, once in a process. If file is "", it opens the first of these that exists:
// the one that the process has loaded, the one that the loader finds, and those in the vendors'
// folders.
func Load(file string) (Library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.lib; l != nil {
		if file != "" && !sameFile(file, l.File) {
			return Library{}, &shmerr.Error{
				Op: "load", Object: file, Cause: fmt.Errorf("this process has already loaded libfabric from %s", l.File),
				Remedy: "name that file in SHMEM_LIBFABRIC, or start the program again",
			}
		}
		return *l, nil
	}
	SetOptions()
	lib, err := search(file, places)
	if err != nil {
		return Library{}, err
	}
	loaded.lib = lib
	return *lib, nil
}

// SetOptions sets the environment variables that libfabric's providers read when they start, unless
// the user has set them. Load calls it, too. It is for callers that load libfabric in another
// thread: no thread may change the environment while others read it.
func SetOptions() { _ = C.shmemi_ofi_set_options() } // without memory for a variable, loading fails

// sameFile reports whether a, a path or the plain name of libfabric's library, is the file b that
// was loaded. Paths are compared after links are resolved.
func sameFile(a, b string) bool {
	if resolved, err := filepath.EvalSymlinks(a); err == nil {
		a = resolved
	}
	if resolved, err := filepath.EvalSymlinks(b); err == nil {
		b = resolved
	}
	return a == b || (!strings.Contains(a, "/") && a == soname)
}

// search opens libfabric: file, or where that is "", the first of places that has it. A place may
// be a pattern.
func search(file string, places []string) (*Library, error) {
	if file != "" {
		lib, err := open(file, false)
		if err != nil {
			return nil, &shmerr.Error{
				Op: "load", Object: "libfabric", Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%w", err),
				Remedy: "correct SHMEM_LIBFABRIC, or unset it to search",
			}
		}
		return lib, nil
	}
	// A program that uses libfabric itself must not get a second one.
	for _, name := range places {
		if lib, err := open(name, true); err == nil {
			return lib, nil
		}
	}
	var tried []string
	for _, pattern := range places {
		files := []string{pattern}
		if strings.Contains(pattern, "*") {
			files, _ = filepath.Glob(pattern) // its only error is a malformed pattern
		}
		if len(files) == 0 {
			tried = append(tried, pattern+": no such file")
		}
		for i := len(files) - 1; i >= 0; i-- { // the newest of several versions is the last
			lib, err := open(files[i], false)
			if err == nil {
				return lib, nil
			}
			tried = append(tried, err.Error())
		}
	}
	return nil, &shmerr.Error{
		Op: "load", Object: "libfabric", Cause: shmerr.Causef(shmerr.ErrNoLibrary, "%s", strings.Join(tried, "; ")),
		Remedy: "install libfabric, for example libfabric1 on Debian, or name its file in SHMEM_LIBFABRIC",
	}
}

// open opens a file as libfabric and looks up its entry points. With present it opens the file only
// if the process has loaded it already.
func open(file string, present bool) (*Library, error) {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	var only C.int
	if present {
		only = 1
	}
	handle := C.shmemi_ofi_open_library(name, only, &why[0], C.size_t(len(why)))
	if handle == nil {
		reason := C.GoString(&why[0])
		if !strings.Contains(reason, file) {
			reason = file + ": " + reason
		}
		return nil, errors.New(reason)
	}
	path := C.GoString(C.shmemi_ofi_library_file(handle))
	if missing := C.shmemi_ofi_bind(handle); missing != nil {
		C.shmemi_ofi_close_library(handle)
		return nil, fmt.Errorf("%s has no function %s", path, C.GoString(missing))
	}
	version := C.fi_version()
	if version < oldest {
		C.shmemi_ofi_close_library(handle)
		return nil, fmt.Errorf("%s is version %s, older than %s", path, versionText(version), versionText(oldest))
	}
	return &Library{File: path, Version: versionText(version), number: uint32(version), api: min(version, newest)}, nil
}

// versionText returns a version of libfabric as a text.
func versionText(v C.uint32_t) string { return fmt.Sprintf("%d.%d", v>>16, v&0xffff) }
