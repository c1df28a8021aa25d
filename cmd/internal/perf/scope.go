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

// scopes are the possible callers of a figure's operations: threads of the host or of a GPU, or a
// CUDA stream.
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
// start each, because different programs make them; that for GPUs is built here.
func (s *settings) argsOfRuns(bin string) ([][]string, error) {
	var out [][]string
	if slices.Contains(s.scopes, scopes[0]) {
		out = append(out, s.programArgs())
	}
	gpu := slices.DeleteFunc(slices.Clone(s.scopes), func(name string) bool { return name == scopes[0] })
	if len(gpu) == 0 {
		return out, nil
	}
	file, err := buildDevice(bin)
	if err != nil {
		return nil, fmt.Errorf("build the program for GPUs: %w", err)
	}
	return append(out, append(s.programArgs(), "program="+file, "scopes="+strings.Join(gpu, ","))), nil
}

// deviceSources are the sources of the measuring program for GPUs.
var deviceSources = []string{"device.cu", "stream.cu", "gpu_collectives.cu", "main.c", "timing.c", "beside.c"}

// deviceHeaders are the headers that these sources include.
var deviceHeaders = []string{"perf.h", "gpu.cuh"}

// buildDevice builds the program for GPUs from the sources that are installed, unless an earlier
// start has built it from the same sources, and returns its file.
func buildDevice(bin string) (string, error) {
	dir, err := filepath.EvalSymlinks(installedPath(bin, "share", "libshmem", "perf", "measure"))
	if err != nil {
		return "", errors.New("share/libshmem/perf/measure is not there (install shmem-perf again)")
	}
	sum := fnv.New64a()
	var sources []string
	for _, name := range append(slices.Clone(deviceHeaders), deviceSources...) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("%w (install shmem-perf again)", err)
		}
		_, _ = sum.Write(text) // it never fails
		if !slices.Contains(deviceHeaders, name) {
			sources = append(sources, filepath.Join(dir, name))
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w (set HOME)", err)
	}
	lib := installedPath(bin, "lib")
	fmt.Fprintln(sum, libshmem.Version, lib)
	file := filepath.Join(cache, "libshmem", fmt.Sprintf("perf-%x", sum.Sum(nil)))
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
	args := []string{"-O3", "-cudart", "static", "-arch=native", "-I" + dir}
	// Installed headers are in one folder, those of a source tree in two.
	for _, include := range []string{installedPath(bin, "include"), filepath.Join(dir, "../../../include"), filepath.Join(dir, "../../../device")} {
		args = append(args, "-I"+include)
	}
	// Two processes that build at the same time each write a separate file, which is renamed when
	// it is complete.
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	defer os.Remove(part)
	args = append(append(args, "-o", part), sources...)
	args = append(args, "-L"+lib, "-lshmem", "-Xlinker", "-rpath="+lib)
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, nvcc, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s (see that nvcc works)", nvcc, err, bytes.TrimSpace(out))
	}
	return file, os.Rename(part, file)
}
