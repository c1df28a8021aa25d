// Package cudatest gives tests a CUDA driver and a GDRCopy that need no GPU: two shared libraries,
// built from C beside it, whose GPU is the process's own memory. They are loaded as the real ones
// are, keep a log of calls, and fail where a test wants it.
//
// A program takes them by LD_LIBRARY_PATH, package cuda's own tests by their path. Settings are in
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

// Build compiles both libraries into a folder. The defines leave functions out;
// testdata says which there are.
func Build(t testing.TB, defines ...string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	code, err := fs.Sub(sources, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	of, err := need.Sources(code)
	if err != nil {
		t.Fatal(err)
	}
	of = append(of, strings.Join(slices.Concat(defines, flags), " ")...)
	return need.Made(t, "cuda", of, func(dir string) { compile(t, dir, code, defines) })
}

var flags = []string{"-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"}

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

// Set gives the fakes their settings, words KEY=NUMBER, and a fresh log.
func Set(t testing.TB, settings string) *Log {
	t.Helper()
	l := &Log{t: t, file: filepath.Join(t.TempDir(), "log")}
	t.Setenv("FAKE_CUDA", settings)
	t.Setenv("FAKE_CUDA_LOG", l.file)
	return l
}

// Holder makes calls of the fakes that do not return, and streams that stand still.
type Holder struct {
	t   testing.TB
	Dir string // the value of FAKE_CUDA_HOLD for the held processes
}

// NewHolder makes one that holds nothing.
func NewHolder(t testing.TB) *Holder { return &Holder{t, t.TempDir()} }

// Hold has a process stay in the next call of a function, until Release. It holds one
// function at a time.
func (h *Holder) Hold(process int, function string) {
	h.t.Helper()
	// At once: a call that reads half of a name would go on.
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

// Release lets the process go on.
func (h *Holder) Release(process int) {
	h.t.Helper()
	if err := os.Remove(filepath.Join(h.Dir, strconv.Itoa(process))); err != nil {
		h.t.Fatal(err)
	}
}

// Reset resets a GPU of the fake driver in a folder that Build made, as cudaDeviceReset does. This
// process has loaded it.
func Reset(t testing.TB, dir string, number int) {
	t.Helper()
	if code := reset(filepath.Join(dir, Driver), number); code != 0 {
		t.Fatalf("cuDevicePrimaryCtxReset_v2: error %d", code)
	}
}

// Log is the calls of the fakes since Set.
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

// releases names the call that gives back the object of another one.
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

// Check fails the test where an object was taken and not given back, or given back and not taken.
// It counts successful takes, and each attempt to give back, because those of the fakes always do
// their work.
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

// CheckProcess fails the test where this process still has GPU memory mapped or exported. No more
// can be checked after the close of a device on which nothing could be freed: the memory went with
// its context.
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
