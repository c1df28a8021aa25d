package device

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// runtimeKernels has one kernel of each family of shmem that has registers for 1,024 threads; those
// of each push are few.
func runtimeKernels(t *testing.T) (source string, names map[string]string) {
	few := map[string]bool{"shmemx_putmem_block": true, "shmemx_alltoallmem_warp": true, "shmem_int_atomic_fetch_add": true}
	names = map[string]string{}
	seen := map[string]bool{}
	var kernels []string
	for i, c := range calledBy(t, surfaces[0]) {
		if seen[c.family] || strings.Contains(c.name, "tile") || limitOf(c.name).registers > perThread || strings.Contains(c.kernel, "shmem_context") ||
			need.Left("kernels") && !few[c.name] {
			continue
		}
		seen[c.family] = true
		kernels, names["k"+strconv.Itoa(i)+"_"+c.name] = append(kernels, c.kernel), c.name
	}
	source = filepath.Join(t.TempDir(), "kernels.cu")
	text := surfaces[0].include + strings.Join(kernels, "\n") + "\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return source, names
}

// TestNVRTCRegisters reads the registers of kernels that NVRTC compiles, and bytes of their stack.
// Relocatable code is linked first, which gives kernels the registers of the functions below them.
func TestNVRTCRegisters(t *testing.T) {
	library := filepath.Join(need.Folder(t), "tools", "nvrtc-13.0.88", "libnvrtc.so.13")
	if _, err := os.Stat(library); err != nil {
		t.Fatalf("find NVRTC: %v (scripts/setup test)", err)
	}
	cuda := filepath.Join(filepath.Dir(filepath.Dir(need.NVCC(t))), "include")
	source, names := runtimeKernels(t)
	archs := promised
	if need.Left("kernels") {
		archs = []string{"sm_90"}
	}
	for _, arch := range archs {
		for _, relocatable := range []bool{true, false} {
			if !relocatable && need.Left("kernels") {
				continue
			}
			cmd := exec.Command("python3", "nvrtc.py", library, source, "-I../../device", "-I../../include", "-I"+cuda, "-I"+cuda+"/cccl", "-std=c++17",
				"--gpu-architecture="+arch, "--relocatable-device-code="+strconv.FormatBool(relocatable))
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(library))
			var log strings.Builder
			cmd.Stderr = &log
			code, err := cmd.Output()
			if err != nil {
				t.Fatalf("compile for %s: %v\n%s", arch, err, log.String())
			}
			if relocatable {
				code = linked(t, code, arch)
			}
			judgeUse(t, "NVRTC, "+arch+", relocatable "+strconv.FormatBool(relocatable), names, registersOf(t, code))
		}
	}
}

func linked(t *testing.T, code []byte, arch string) []byte {
	from, to := filepath.Join(t.TempDir(), "kernels.cubin"), filepath.Join(t.TempDir(), "linked.cubin")
	if err := os.WriteFile(from, code, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(filepath.Dir(need.NVCC(t)), "nvlink"), "-arch="+arch, from, "-o", to).CombinedOutput(); err != nil {
		t.Fatalf("link for %s: %v\n%s", arch, err, out)
	}
	code, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// registersOf reads the attributes of machine code, each of which has a form, a number, and for form
// 4 its bytes: the number of a symbol and a value.
func registersOf(t *testing.T, code []byte) map[string]used {
	const valued, registers, stack = 4, 0x2f, 0x12
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := f.Section(".nv.info").Data()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]used{}
	for len(attributes) >= 4 {
		form, number, size := attributes[0], attributes[1], 0
		if form == valued {
			size = int(binary.LittleEndian.Uint16(attributes[2:]))
		}
		if body := attributes[4 : 4+size]; size == 8 {
			name := symbols[binary.LittleEndian.Uint32(body)-1].Name
			u, value := all[name], int(binary.LittleEndian.Uint32(body[4:]))
			switch number {
			case registers:
				u.registers = value
			case stack:
				u.stack = value
			}
			all[name] = u
		}
		attributes = attributes[4+size:]
	}
	return all
}
