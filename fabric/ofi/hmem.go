package ofi

/*
#include <stdlib.h>
#include "hmem.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// libfabric knows the memory of NVIDIA's GPUs (FI_HMEM) only if it can load CUDA's runtime and
// driver by these names. A program that is linked with the runtime, and torch, load it by a name
// with a version, which is another name to the loader.
const (
	cudaRuntime   = "libcudart.so"
	cudaDriver    = "libcuda.so.1"
	cudaDriverOld = "libcuda.so" // below libfabric 2.1
)

// runtimes lists the names by which programs load CUDA's runtime.
var runtimes = []string{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}

// forCUDA returns the names of CUDA's libraries that this version of libfabric loads.
func (l Library) forCUDA() []string {
	if l.number >= 2<<16|1 {
		return []string{cudaRuntime, cudaDriver}
	}
	return []string{cudaRuntime, cudaDriverOld}
}

// Obstacle is a reason why libfabric does not know the memory of GPUs.
type Obstacle struct {
	Text   string
	Remedy string
}

// String returns the obstacle with its remedy.
func (o Obstacle) String() string { return o.Text + " (" + o.Remedy + ")" }

// Obstacles lists why libfabric offers no NIC for the memory of GPUs, apart from reasons of the
// NIC: settings of the environment ("NAME=value") that forbid it, and files that it cannot load. It
// uses the loader and no GPU.
func (l Library) Obstacles(environ []string) []Obstacle {
	var all []Obstacle
	for _, setting := range environ {
		if only, ok := strings.CutPrefix(setting, "FI_HMEM="); ok && only != "" && !strings.Contains(only, "cuda") {
			all = append(all, Obstacle{setting + " keeps libfabric from CUDA", "unset FI_HMEM"})
		}
	}
	for _, file := range l.forCUDA() {
		if _, ok := loads(file, false); !ok {
			all = append(all, Obstacle{fmt.Sprintf("libfabric %s cannot load %s", l.Version, file), remedyFor(file)})
		}
	}
	return all
}

// obstacleNotes lists what keeps libfabric from the memory of GPUs, for the notes of an endpoint
// that cannot register such memory (noGPU says why). It lists nothing for a provider without a NIC.
func (l Library) obstacleNotes(o *offer, noGPU error) []string {
	var notes []string
	if noGPU != nil && !o.usesCPU() {
		for _, obstacle := range l.Obstacles(nil) {
			notes = append(notes, obstacle.Text)
		}
	}
	return notes
}

// remedyFor returns what the user can do so that libfabric finds a file of CUDA.
func remedyFor(file string) string {
	switch file {
	case cudaRuntime:
		from := "libcudart.so.12 of CUDA or of torch"
		for _, present := range []bool{true, false} {
			for _, name := range runtimes {
				if path, ok := loads(name, present); ok {
					return "link libcudart.so to " + path + " in a folder of LD_LIBRARY_PATH"
				}
			}
		}
		return "install CUDA's runtime, or link libcudart.so to " + from + ", in a folder of LD_LIBRARY_PATH"
	case cudaDriverOld:
		return "link libcuda.so to libcuda.so.1 in a folder of LD_LIBRARY_PATH, or install libfabric 2.1 or later"
	}
	return "install NVIDIA's driver; in a container, start it with the GPUs of the host"
}

// loads returns the file that the loader finds for a library's name; if present is true, only a
// file that the process has loaded already.
func loads(name string, present bool) (string, bool) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var only C.int
	if present {
		only = 1
	}
	var path [512]C.char
	if C.shmemi_ofi_loads(c, only, &path[0], C.size_t(len(path))) == 0 {
		return "", false
	}
	return C.GoString(&path[0]), true
}

// addObstacles adds the obstacles of libfabric to an error about GPU memory.
func (l Library) addObstacles(err error) error {
	var texts []string
	for _, o := range l.Obstacles(nil) {
		texts = append(texts, o.String())
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(texts, "; "))
}
