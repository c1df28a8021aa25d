package nvshmem

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/need"
)

// same are kernels in the library's own names.
const same = `
extern "C" __global__ void one(int *at, int *from, uint64_t *signal, int pe)
{
    shmem_int_p(at, 1, pe);
    shmem_int_put(at, from, 5, pe);
    shmem_int_put_signal(at, from, 5, signal, 1, SHMEM_SIGNAL_ADD, pe);
    *from = shmem_int_g(at, pe) + shmem_int_atomic_fetch_add(at, 2, pe);
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, 1);
}
extern "C" __global__ void together(int *at, int *from, uint64_t *signal, int pe)
{
    shmemx_int_put_nbi_warp(at, from, 5, pe);
    shmemx_putmem_signal_nbi_block(at, from, 5, signal, 1, SHMEM_SIGNAL_SET, pe);
    shmem_quiet();
    shmemx_int_sum_reduce_block(SHMEM_TEAM_WORLD, at, from, 4);
    shmemx_barrier_all_block();
}
`

// TestSameCode: the names of NVSHMEM have the same code for a GPU, as PTX and as its machine code
// (SASS), except for the number of the call in reports.
func TestSameCode(t *testing.T) {
	nvcc := need.NVCC(t)
	own := "#include <shmem/shmem.cuh>\n" + same
	theirs := "#include <nvshmem.h>\n#include <nvshmemx.h>\n" + spec.Nvshmem.Spell(same)
	var texts []string
	var codes []map[string][]uint32
	for _, text := range []string{own, theirs} {
		source := filepath.Join(t.TempDir(), "same.cu")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		compile(t, nvcc, "-std=c++17", "-arch=sm_90", "-ccbin", "gcc", "-I../../include/nvshmem", "-I../../include", "-I../../device", "-ptx", "-o", source+".ptx", source)
		ptx, err := os.ReadFile(source + ".ptx")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, withoutNames(string(ptx)))
		// Objects that no kernel uses affect the places of others.
		needed := remark.ReplaceAll(internal.ReplaceAll(ptx, []byte("_INTERNAL_")), nil)
		if err := os.WriteFile(source+".ptx", needed, 0o644); err != nil {
			t.Fatal(err)
		}
		compile(t, nvcc, "-arch=sm_90", "-ccbin", "gcc", "-cubin", "-o", source+".cubin", source+".ptx")
		codes = append(codes, machineCode(t, source+".cubin"))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "call_shmem_int_p") {
		dir := t.TempDir()
		for i, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		diff, _ := exec.Command("diff", filepath.Join(dir, "0"), filepath.Join(dir, "1")).Output() //nolint:errcheck // it has found some
		t.Errorf("the code differs:\n%.3000s", diff)
	}
	if len(codes[0]) != len(codes[1]) || len(codes[0][".text.one"]) < 400 || len(codes[0][".text.together"]) < 400 {
		t.Errorf("%d and %d sections of machine code; %d and %d words in two of them", len(codes[0]), len(codes[1]), len(codes[0][".text.one"]), len(codes[0][".text.together"]))
	}
	if !slices.Contains(codes[0][".text.one"], spec.CallNumber("shmem_int_p")) {
		t.Error("the number of shmem_int_p is not in the machine code")
	}
	for name, words := range codes[0] {
		if !slices.Equal(words, codes[1][name]) {
			t.Errorf("the machine code in %s differs", name)
		}
	}
}

// machineCode returns the instructions of a cubin, in words, by section. A call's number is that of
// the library's own name.
func machineCode(t *testing.T, path string) map[string][]uint32 {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	own := map[uint32]uint32{}
	for _, name := range spec.Shmem.KernelNames() {
		own[spec.CallNumber("nv"+name)] = spec.CallNumber(name)
	}
	code := map[string][]uint32{}
	for _, section := range file.Sections {
		if !strings.HasPrefix(section.Name, ".text.") {
			continue
		}
		data, err := section.Data()
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint32, len(data)/4)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(data[4*i:])
			if number, ok := own[words[i]]; ok {
				words[i] = number
			}
		}
		code[internal.ReplaceAllString(section.Name, "_INTERNAL_")] = words
	}
	return code
}

var (
	function = regexp.MustCompile(`(?m)^(\.visible |\.weak )?\.(func|entry)`)
	label    = regexp.MustCompile(`(\$L__BB|__local_depot|// callseq )\d+`)
	comment  = regexp.MustCompile(`(?m)^\s*//.*\n`)
	number   = regexp.MustCompile(`-?\b\d{4,}\b`)
	internal = regexp.MustCompile(`_INTERNAL_[0-9a-f]+_`)
	// Cooperative groups add objects of CUDA's library; no kernel here uses one.
	remark = regexp.MustCompile(`(?m)^(//|\.global \.align 1 \.b8 _ZN32_INTERNAL_7_same_cu_one4cuda3std).*\n`)
)

// withoutNames replaces the number of a call by the library's own name for it, and removes the
// parts that depend on the file.
func withoutNames(ptx string) string {
	names := map[string]string{}
	for _, name := range spec.Shmem.KernelNames() {
		for _, surface := range []string{name, "nv" + name} {
			n := spec.CallNumber(surface)
			names[strconv.FormatUint(uint64(n), 10)] = "call_" + name
			names[strconv.FormatInt(int64(int32(n)), 10)] = "call_" + name
		}
	}
	ptx = remark.ReplaceAllString(internal.ReplaceAllString(ptx, "_INTERNAL_"), "")
	ptx = number.ReplaceAllStringFunc(ptx, func(n string) string {
		if name := names[n]; name != "" {
			return name
		}
		return n
	})
	// Functions are in the order in which the headers come to them, which numbers their labels, too.
	ptx = label.ReplaceAllString(comment.ReplaceAllString(ptx, ""), "$1")
	functions := strings.Split(function.ReplaceAllString(ptx, "\x00$0"), "\x00")
	slices.Sort(functions)
	return strings.Join(functions, "")
}
