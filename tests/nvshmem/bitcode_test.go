package nvshmem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/queue"
	"libshmem/tests/need"
)

// bitcodeText returns the text of libnvshmem_device.bc, as the clang that has written it reads it.
func bitcodeText(t *testing.T) (file, text string) {
	t.Helper()
	file = filepath.Join(need.Build(t), "lib", "libnvshmem_device.bc")
	clang, err := exec.Command("../../scripts/bitcode-clang").Output()
	if _, missing := os.Stat(file); err != nil || missing != nil || len(clang) == 0 {
		const lack = "no clang 16 to 19, and no libnvshmem_device.bc (scripts/setup bitcode, and make build)"
		if os.Getenv("CI") == "true" {
			t.Fatal(lack)
		}
		t.Skip(lack)
	}
	out, err := exec.Command(strings.TrimSpace(string(clang)), "--target=nvptx64-nvidia-cuda", "-x", "ir", "-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-o", "-", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return file, string(out)
}

// wrapped are the functions that the wrappers of torch 2.11 for Triton call, besides reductions.
var wrapped = []string{
	"nvshmemx_putmem_block", "nvshmemx_getmem_block", "nvshmemx_getmem_nbi_block", "nvshmemx_putmem_signal_block",
	"nvshmem_int_wait_until", "nvshmem_signal_wait_until", "nvshmemx_signal_op", "nvshmem_fence", "nvshmem_quiet",
	"nvshmem_my_pe", "nvshmem_n_pes", "nvshmem_barrier_all", "nvshmem_sync_all",
	"nvshmemx_alltoallmem_block", "nvshmemx_broadcastmem_block",
}

// torchNames returns all functions that these wrappers call: 63.
func torchNames() []string {
	out := slices.Clone(wrapped)
	for _, op := range []string{"sum", "max", "min", "prod"} {
		for _, typ := range []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "half", "bfloat16", "float", "double"} {
			out = append(out, fmt.Sprintf("nvshmem_%s_%s_reduce", typ, op))
		}
	}
	return out
}

var bitcodeFunctions = regexp.MustCompile(`(?m)^define (?:dso_local )?(.*)@(nvshmem\w+)\((.*)\).* \{$`)

// TestBitcode: the file defines every function of NVSHMEM's newest release for kernels, and so those
// that torch's wrappers and CuTe's look up, under C names; compilers can link it to modules with any
// flags; it keeps the two variables by which the host finds and checks the state of a module.
func TestBitcode(t *testing.T) {
	file, text := bitcodeText(t)
	defined := map[string]string{}
	for _, m := range bitcodeFunctions.FindAllStringSubmatch(text, -1) {
		defined[m[2]] = m[1] + "(" + m[3] + ")"
	}
	names, _, _ := readDeviceFacts(t, newest)
	for name := range names {
		if defined[name] == "" && slices.Contains(spec.Nvshmem.KernelNames(), name) {
			t.Errorf("%s is not defined", name)
		}
	}
	torch := torchNames()
	for _, name := range torch {
		if defined[name] == "" {
			t.Errorf("%s, which torch calls, is not defined", name)
		}
	}
	if len(torch) != 63 || len(defined) < 2700 {
		t.Errorf("%d names of torch, and %d functions are defined", len(torch), len(defined))
	}

	// Compilers of kernels pass 16-bit floating-point values as their own types.
	for name, form := range map[string]string{
		"nvshmem_half_p":     `^void \(ptr noundef %\S+, half noundef %\S+, i32 noundef %\S+\)$`,
		"nvshmem_bfloat16_g": `^bfloat \(ptr noundef %\S+, i32 noundef %\S+\)$`,
	} {
		if !regexp.MustCompile(form).MatchString(defined[name]) {
			t.Errorf("%s is %s", name, defined[name])
		}
	}
	if strings.Contains(text, "!llvm.module.flags") {
		t.Error("the module has flags, which Triton's may not fit")
	}
	if m := regexp.MustCompile(`(?m)^define .* align \d+ \{$`).FindString(text); m != "" {
		t.Errorf("libNVVM refuses the alignment of %s", m)
	}
	if strings.Contains(text, "optnone") {
		t.Error("compilers of kernels may not optimise a function")
	}
	for _, global := range []string{
		"@shmemi_here = dso_local addrspace(4) externally_initialized global %struct.shmemi_device_image ",
		fmt.Sprintf("@nvshmemi_device_lib_version_d = dso_local addrspace(4) externally_initialized constant %%struct.anon { i32 3, i32 8, i32 %d }", queue.BitcodePatch),
	} {
		if !strings.Contains(text, "\n"+global) {
			t.Errorf("there is no %s", global)
		}
	}
	used := regexp.MustCompile(`(?m)^@llvm\.used = appending .*$`).FindString(text)
	if !strings.Contains(used, "@shmemi_here ") || !strings.Contains(used, "@nvshmemi_device_lib_version_d ") {
		t.Errorf("a compiler may remove a variable: %q", used)
	}

	// It is a third of a megabyte in a wheel.
	if info, err := os.Stat(file); err != nil || info.Size() > 3<<20 {
		t.Errorf("%s: %v, or more than 3 MiB", file, err)
	}
}
