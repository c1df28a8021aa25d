package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"libshmem"
)

// scopes are the possible callers of a figure's operations: threads of the host (scopes[0]) or of a
// GPU, or a CUDA stream.
var scopes = []string{"host", "stream", "thread", "warp", "block"}

// parseScopes reads the list of --scope: who makes the calls that are measured.
func parseScopes(list string) ([]string, error) {
	if list == "gpu" {
		return scopes[1:], nil
	}
	names, err := splitKnown(scopes, list, "gpu for all but host")
	if err != nil {
		return nil, fmt.Errorf("--scope %s: %w", list, err)
	}
	return names, nil
}

// argsOfRuns returns the arguments for each start of the PEs. Calls of the host and of GPUs need a
// start each, because different programs make them. The program for GPUs is built here.
func (s *settings) argsOfRuns(bin string) ([][]string, error) {
	var out [][]string
	if slices.Contains(s.scopes, scopes[0]) {
		out = append(out, s.programArgs())
	}
	if len(s.gpuScopes()) == 0 {
		return out, nil
	}
	file, err := buildDevice(bin)
	if err != nil {
		return nil, fmt.Errorf("build the program for GPUs: %w", err)
	}
	return append(out, s.deviceArgs(file)), nil
}

// gpuScopes returns the scopes of the command line that need the program for GPUs.
func (s *settings) gpuScopes() []string {
	return slices.DeleteFunc(slices.Clone(s.scopes), func(name string) bool { return name == scopes[0] })
}

// deviceArgs returns the arguments for a start of the program for GPUs in a file.
func (s *settings) deviceArgs(file string) []string {
	return append(s.programArgs(), "program="+file, "scopes="+strings.Join(s.gpuScopes(), ","))
}

// A deviceBuild is a way to build the program for GPUs: for libshmem or for NVSHMEM.
type deviceBuild struct {
	name    string
	sources []string // of share/libshmem/perf/measure
	headers []string // that these sources include, beside those of the library
	include []string // folders of the library's headers
	flags   []string // of nvcc
	link    []string // libraries and options of the linker
}

// deviceSources are the sources of the measuring program for GPUs, and deviceHeaders the headers
// that they include.
var (
	deviceSources = []string{"device.cu", "stream.cu", "gpu_collectives.cu", "main.c", "timing.c", "beside.c"}
	deviceHeaders = []string{"perf.h", "gpu.cuh"}
)

// buildOfOurs returns how to build the program for libshmem. dir has the sources. Installed headers
// are in one folder, those of a source tree in two.
func buildOfOurs(bin, dir string) *deviceBuild {
	lib := installedPath(bin, "lib")
	return &deviceBuild{
		name: "perf", sources: deviceSources, headers: deviceHeaders,
		include: []string{installedPath(bin, "include"), filepath.Join(dir, "../../../include"), filepath.Join(dir, "../../../device")},
		link:    []string{"-L" + lib, "-lshmem", "-Xlinker", "-rpath=" + lib},
	}
}

// measureSources returns the folder of the sources of the measuring program.
func measureSources(bin string) (string, error) {
	dir, err := filepath.EvalSymlinks(installedPath(bin, "share", "libshmem", "perf", "measure"))
	if err != nil {
		return "", errors.New("share/libshmem/perf/measure is not there (install shmem-perf again)")
	}
	return dir, nil
}

// buildDevice builds the program for GPUs for libshmem, and returns its file.
func buildDevice(bin string) (string, error) {
	dir, err := measureSources(bin)
	if err != nil {
		return "", err
	}
	return buildOfOurs(bin, dir).build(dir)
}

// build builds the program from the sources in dir, unless an earlier start has built it from the
// same sources, and returns its file.
func (b *deviceBuild) build(dir string) (string, error) {
	sum := fnv.New64a()
	var sources []string
	for _, name := range append(slices.Clone(b.headers), b.sources...) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("%w (install shmem-perf again)", err)
		}
		_, _ = sum.Write(text) // it never fails
		if slices.Contains(b.sources, name) {
			sources = append(sources, filepath.Join(dir, name))
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w (set HOME)", err)
	}
	fmt.Fprintln(sum, libshmem.Version, b.flags, b.link)
	file := filepath.Join(cache, "libshmem", fmt.Sprintf("%s-%x", b.name, sum.Sum(nil)))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	nvcc, err := exec.LookPath("nvcc")
	if err != nil {
		if nvcc, err = exec.LookPath("/usr/local/cuda/bin/nvcc"); err != nil {
			return "", errors.New("there is no nvcc (install CUDA's compiler, and put it into PATH)")
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return "", fmt.Errorf("%w (make room for it)", err)
	}
	fmt.Fprintf(os.Stderr, "shmem-perf: nvcc builds %s for GPUs, which takes a minute or two at the first start\n", b.name)
	args := append([]string{"-O3", "-cudart", "static", "-arch=native", "-I" + dir}, b.flags...)
	for _, include := range b.include {
		args = append(args, "-I"+include)
	}
	// Two processes that build at the same time each write a separate file, which is renamed when
	// it is complete.
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	defer os.Remove(part)
	args = append(append(args, "-o", part), sources...)
	args = append(args, b.link...)
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, nvcc, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s (see that nvcc works)", nvcc, err, bytes.TrimSpace(out))
	}
	return file, os.Rename(part, file)
}
