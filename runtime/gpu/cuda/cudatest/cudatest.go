// Package cudatest gives tests a CUDA driver and a GDRCopy that need no GPU: two shared libraries,
// built from the C files in testdata, whose GPU is the process's own memory. They are loaded as the
// real ones are, keep a log of calls, and fail where a test wants it.
//
// A program finds them by LD_LIBRARY_PATH, package cuda's own tests by their path. Settings are in
// the environment of the process that uses them, so tests that change them do not run in parallel.
package cudatest

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

//go:embed testdata
var sources embed.FS

// The files that Build makes.
const (
	Driver = "libcuda.so.1"
	GDR    = "libgdrapi.so.2"
)

var mu sync.Mutex // one build at a time

// Build compiles both libraries and returns their folder. Each define leaves functions out of the
// libraries; the files in testdata say which defines there are.
func Build(t testing.TB, defines ...string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	code, err := fs.Sub(sources, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := need.Sources(code)
	if err != nil {
		t.Fatal(err)
	}
	inputs = append(inputs, strings.Join(slices.Concat(defines, flags), " ")...)
	return need.Made(t, "cuda", inputs, func(dir string) { compile(t, dir, code, defines) })
}

// flags are those of the C compiler for both libraries.
var flags = []string{"-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"}

// compile builds both libraries in dir.
func compile(t testing.TB, dir string, code fs.FS, defines []string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(dir, "src"), code); err != nil {
		t.Fatal(err)
	}
	for out, in := range map[string][]string{
		Driver: {"libcuda.c", "memory.c", "vmm.c", "stream.c", "copy.c", "module.c", "fake.c"},
		GDR:    {"libgdrapi.c", "fake.c"},
	} {
		args := append(slices.Clone(flags), "-o", filepath.Join(dir, out))
		for _, d := range defines {
			args = append(args, "-D"+d)
		}
		for _, file := range in {
			args = append(args, filepath.Join(dir, "src", file))
		}
		cc.Run(t, cc.C(), args...)
	}
}

// Set gives the two libraries settings, a list of KEY=NUMBER, and a new log, which it returns.
func Set(t testing.TB, settings string) *Log {
	t.Helper()
	l := &Log{t: t, file: filepath.Join(t.TempDir(), "log")}
	t.Setenv("FAKE_CUDA", settings)
	t.Setenv("FAKE_CUDA_LOG", l.file)
	return l
}

// Holder makes calls of the fake driver block, or its streams stop, in other processes.
type Holder struct {
	t   testing.TB
	Dir string // the value of FAKE_CUDA_HOLD in those processes
}

// NewHolder returns a Holder that blocks nothing yet.
func NewHolder(t testing.TB) *Holder { return &Holder{t, t.TempDir()} }

// Hold makes calls of a function block in a process until Release. Only one function of a process
// blocks at a time.
func (h *Holder) Hold(process int, function string) {
	h.t.Helper()
	// The file appears by a rename: a call that read half of the name would not block.
	file := filepath.Join(h.Dir, strconv.Itoa(process))
	if err := errors.Join(os.WriteFile(file+".new", []byte(function), 0o600), os.Rename(file+".new", file)); err != nil {
		h.t.Fatal(err)
	}
}

// Load stops the streams of a process's primary contexts until the returned function is called, as
// if a kernel were being loaded beside one that runs.
func (h *Holder) Load(process int) (loaded func()) {
	h.t.Helper()
	file := filepath.Join(h.Dir, strconv.Itoa(process)+".loads")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return func() {
		h.t.Helper()
		if err := os.Remove(file); err != nil {
			h.t.Fatal(err)
		}
	}
}

// Release lets the call that Hold has blocked in a process return.
func (h *Holder) Release(process int) {
	h.t.Helper()
	if err := os.Remove(filepath.Join(h.Dir, strconv.Itoa(process))); err != nil {
		h.t.Fatal(err)
	}
}

// Reset resets a GPU of the fake driver, as cudaDeviceReset does. dir is the folder that Build
// returned; this process must have loaded the driver from there.
func Reset(t testing.TB, dir string, number int) {
	t.Helper()
	if code := reset(filepath.Join(dir, Driver), number); code != 0 {
		t.Fatalf("cuDevicePrimaryCtxReset_v2: error %d", code)
	}
}

// Log is the log of the calls of the two libraries since Set.
type Log struct {
	t    testing.TB
	file string
}

// Calls returns the lines of the log: each has the name of a function and its result.
func (l *Log) Calls() []string {
	l.t.Helper()
	data, err := os.ReadFile(l.file)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// releases maps each call that makes an object to the call that releases it.
var releases = map[string]string{
	"cuMemAlloc_v2": "cuMemFree_v2", "cuMemAllocManaged": "cuMemFree_v2",
	"cuMemHostAlloc": "cuMemFreeHost", "cuMemHostRegister_v2": "cuMemHostUnregister",
	"cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease_v2", "cuCtxCreate_v2": "cuCtxDestroy_v2",
	"cuCtxPushCurrent_v2": "cuCtxPopCurrent_v2", "cuStreamCreate": "cuStreamDestroy_v2",
	"cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadData": "cuModuleUnload",
	"cuMemAddressReserve": "cuMemAddressFree", "cuMemMap": "cuMemUnmap",
	"cuMemCreate": "cuMemRelease", "cuMemRetainAllocationHandle": "cuMemRelease", "cuMemImportFromShareableHandle": "cuMemRelease",
	"cuIpcOpenMemHandle_v2": "cuIpcCloseMemHandle",
	"gdr_open":              "gdr_close", "gdr_pin_buffer": "gdr_unpin_buffer", "gdr_map": "gdr_unmap",
}

// Check fails the test if an object was made and not released, or released and not made. It counts
// the calls that made an object successfully, and all calls that release one: in the fake libraries
// these release the object even when they return an error.
func (l *Log) Check() {
	l.t.Helper()
	open := map[string]int{}
	for _, line := range l.Calls() {
		name, result, _ := strings.Cut(line, " ")
		if back := releases[name]; back != "" && result == "0" {
			open[back]++
		}
		if name == "cuCtxCreate_v2" && result == "0" {
			open["cuCtxPopCurrent_v2"]++ // it pushes the new context
		}
		for _, back := range releases {
			if name == back {
				open[name]--
				break
			}
		}
	}
	for name, n := range open {
		if n != 0 {
			l.t.Errorf("%d calls of %s are missing; the log:\n%s", n, name, strings.Join(l.Calls(), "\n"))
		}
	}
	l.CheckProcess()
}

// CheckProcess fails the test if this process still has GPU memory mapped or exported. After the
// close of a device on which nothing could be freed, a test can check only this: the other objects
// ended with their context.
func (l *Log) CheckProcess() {
	l.t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		l.t.Fatal(err)
	}
	if n := strings.Count(string(maps), "fake-gpu"); n != 0 {
		l.t.Errorf("%d mappings of GPU memory are left", n)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, fd := range fds {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.Contains(to, "fake-gpu") {
			l.t.Errorf("descriptor %s is left open: %s", fd.Name(), to)
		}
	}
}
