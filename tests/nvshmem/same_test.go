package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestSameCode: the names of NVSHMEM are the same code for a GPU, but for the number by which a
// report names the call.
func TestSameCode(t *testing.T) {
	nvcc := need.NVCC(t)
	own := "#include <shmem/shmem.cuh>\n" + same
	theirs := "#include <nvshmem.h>\n#include <nvshmemx.h>\n" + spec.Nvshmem.Spell(same)
	var texts []string
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
}

var (
	number   = regexp.MustCompile(`-?\b\d{4,}\b`)
	internal = regexp.MustCompile(`_INTERNAL_[0-9a-f]+_`)
	// Objects of CUDA's library come with cooperative groups; no kernel here uses one.
	remark = regexp.MustCompile(`(?m)^(//|\.global \.align 1 \.b8 _ZN32_INTERNAL_7_same_cu_one4cuda3std).*\n`)
)

// withoutNames puts the name of a call, as the library itself has it, into the place of its number,
// and takes out what depends on the file.
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
	return number.ReplaceAllStringFunc(ptx, func(n string) string {
		if name := names[n]; name != "" {
			return name
		}
		return n
	})
}
