package nvshmem

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/need"
)

// A shape is the result and the parameters of a function of kernels, as C++ spells it.
type shape struct {
	result string
	params []string
}

// pointer returns the type of a pointer to the function.
func (s shape) pointer() string {
	return s.result + " (*)(" + strings.Join(s.params, ", ") + ")"
}

// readDeviceFacts returns the functions, the tiles and the headers of a release.
func readDeviceFacts(t *testing.T, version string) (map[string]shape, []string, []string) {
	t.Helper()
	data, err := os.ReadFile("../../capi/spec/testdata/nvshmem-device-" + version + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]shape{}
	var tiles, headers []string
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "device":
			functions[f[1]] = shape{f[2], strings.Split(f[3], "; ")}
		case "tile":
			tiles = append(tiles, f[1])
		case "header":
			headers = append(headers, f[1])
		default:
			if !strings.HasPrefix(line, "#") {
				t.Fatalf("%s: %q", version, line)
			}
		}
	}
	if len(functions) < 2200 || len(headers) < 30 {
		t.Fatalf("%s: %d functions, %d headers", version, len(functions), len(headers))
	}
	return functions, tiles, headers
}

// TestDeviceNames: kernels have each function of the newest release, or left_device.tsv gives the
// reason; a row of that list may not claim more names than are missing. There is no other name.
func TestDeviceNames(t *testing.T) {
	known, tiles, _ := readDeviceFacts(t, newest)
	there := map[string]bool{}
	for _, name := range spec.Nvshmem.KernelNames() {
		there[name] = true
		if _, ok := known[name]; !ok {
			t.Errorf("%s: NVSHMEM has no such function", name)
		}
	}
	for _, name := range spec.Nvshmem.TileNames() {
		there[name] = true
	}
	list := readLeft(t, "left_device.tsv")
	for _, name := range append(slices.Sorted(maps.Keys(known)), tiles...) {
		listed := false
		for _, l := range list {
			if l.pattern.MatchString(name) && !there[name] {
				l.found, listed = append(l.found, name), true
			}
		}
		if !there[name] && !listed {
			t.Errorf("%s: absent, and not in left_device.tsv", name)
		}
	}
	for _, l := range list {
		if len(l.found) != l.n {
			t.Errorf("left_device.tsv: %s: %d names are absent, not %d", l.pattern, len(l.found), l.n)
		}
	}
}

// withdrawn are names of older releases that no program can have used: the first had no definition,
// the others a wrong number of bits.
var withdrawn = regexp.MustCompile(`^nvshmem_\w+_alltoalls$|^nvshmemx_put6_signal(_nbi)?_(warp|block)$`)

// TestDeviceOlder: every name of older releases is in the newest one.
func TestDeviceOlder(t *testing.T) {
	now, _, _ := readDeviceFacts(t, newest)
	for _, version := range []string{"3.4.5", "3.7.2"} {
		then, _, _ := readDeviceFacts(t, version)
		for name, s := range then {
			if s.pointer() != now[name].pointer() && !withdrawn.MatchString(name) {
				t.Errorf("%s: %s was %s, and is %s", version, name, s.pointer(), now[name].pointer())
			}
		}
	}
}

// TestDeviceHeaders: each header is one that NVSHMEM has, so that a program that looks for it by
// __has_include finds it with the other library, too. The library's own begin with nvshmemi.
func TestDeviceHeaders(t *testing.T) {
	known := map[string]bool{}
	for _, version := range []string{"3.4.5", "3.7.2", newest} {
		_, _, headers := readDeviceFacts(t, version)
		for _, h := range headers {
			known[h] = true
		}
	}
	const root = "../../include/nvshmem"
	n := 0
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		n++
		if !known[rel] && !strings.HasPrefix(filepath.Base(rel), "nvshmemi_") {
			t.Errorf("NVSHMEM has no header %s", rel)
		}
		return err
	})
	if err != nil || n < 15 {
		t.Errorf("%d headers, %v", n, err)
	}
}

var amount = regexp.MustCompile(`(?m)^ +(NVSHMEMX_\w+) = `)

// deviceShapes returns a program that asserts the type of each function.
func deviceShapes(t *testing.T) string {
	known, _, _ := readDeviceFacts(t, newest)
	var b strings.Builder
	b.WriteString("#include <nvshmem.h>\n#include <nvshmemx.h>\n#include <type_traits>\n")
	for _, name := range spec.Nvshmem.KernelNames() {
		fmt.Fprintf(&b, "static_assert(std::is_same<decltype(&%s), %s>::value, \"%s\");\n", name, known[name].pointer(), name)
	}
	constants := readFacts(t, newest).constants
	for _, name := range amount.FindAllStringSubmatch(spec.Nvshmem.Device.Types, -1) {
		fmt.Fprintf(&b, "static_assert((long long)%s == %sLL, \"%[1]s\");\n", name[1], constants[name[1]])
	}
	return b.String()
}

// deviceCalls returns a program whose kernels call one type of each family, and the number of names
// that it calls.
func deviceCalls(t *testing.T) (string, int) {
	known, _, _ := readDeviceFacts(t, newest)
	var b strings.Builder
	b.WriteString("#include <nvshmem.h>\n#include <nvshmemx.h>\n")
	calls := 0
	for _, c := range spec.Nvshmem.Kernels() {
		fmt.Fprintf(&b, "__global__ void %s(char *memory, long number)\n{\n", c.File)
		for _, f := range c.Families {
			done := map[string]bool{}
			for _, fn := range f.Functions() {
				form := fmt.Sprint(fn.Scope, fn.Nbi, fn.Form)
				if done[form] {
					continue
				}
				done[form] = true
				calls++
				b.WriteString("    " + deviceCall(fn.Name, known[fn.Name]) + ";\n")
			}
		}
		b.WriteString("}\n")
	}
	return b.String(), calls
}

// deviceCall calls a function with any arguments, and keeps its result.
func deviceCall(name string, s shape) string {
	var args []string
	for _, p := range s.params {
		switch {
		case p == "void":
		case strings.HasSuffix(p, "*"):
			args = append(args, "("+p+")memory")
		case strings.HasPrefix(p, "__"):
			args = append(args, "*("+p+" *)memory")
		default:
			args = append(args, "("+p+")number")
		}
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if s.result == "void" {
		return call
	}
	return "*(" + s.result + " *)memory = " + call
}

// TestDevice has nvcc compile programs for kernels: each type of a function, a call of each family,
// and the headers that they include.
func TestDevice(t *testing.T) {
	nvcc, work := need.NVCC(t), t.TempDir()
	calls, n := deviceCalls(t)
	if n < 150 {
		t.Errorf("%d calls", n)
	}
	t.Logf("%d names called, %d compared", n, len(spec.Nvshmem.KernelNames()))
	for _, c := range []struct{ name, text, standard, more string }{
		{"shapes", deviceShapes(t), "c++17", "-Werror"},
		{"calls", torchDefines + calls, "c++17", "-rdc=true"},
		{"brings", deviceBrings, "c++17", "-rdc=true"},
		{"older", deviceOlder, "c++14", "-rdc=false"},
		{"hostlib", "#define NVSHMEM_HOSTLIB_ONLY\n#include <nvshmem.h>\n#include <nvshmemx.h>\n#ifdef SHMEMI_KERNEL\n#error kernels\n#endif\n", "c++17", "-rdc=false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			source := filepath.Join(work, c.name+".cu")
			if err := os.WriteFile(source, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{"-std=" + c.standard, "-arch=sm_75", "-ccbin", "gcc", "-I../../include/nvshmem", "-I../../device", "-Werror", "all-warnings", "-ptx", "-o", source + ".ptx",
				"-Xcicc", "-O0"} // it is never run: optimising it takes most of the time
			if c.more != "-Werror" {
				args = append(args, c.more)
			}
			compile(t, nvcc, append(args, source)...)
		})
	}
}

// torchDefines switch off the operators and conversions of half, as torch's builds do.
const torchDefines = `#define __CUDA_NO_HALF_OPERATORS__
#define __CUDA_NO_HALF_CONVERSIONS__
#define __CUDA_NO_HALF2_OPERATORS__
#define __CUDA_NO_BFLOAT16_CONVERSIONS__
#define __CUDA_NO_BFLOAT16_OPERATORS__
`

// deviceBrings includes internal headers of NVSHMEM that programs name, uses what the headers bring
// without an include of its own, and declares again what the library has.
const deviceBrings = `#include <device_host_transport/nvshmem_common_ibgda.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <non_abi/device/threadgroup/nvshmemi_common_device_defines.cuh>
namespace theirs {
extern "C" void nvshmem_init();
extern "C" __device__ void nvshmem_int_p(int *dest, const int value, int pe);
extern "C" __host__ __device__ int nvshmem_team_my_pe(nvshmem_team_t team);
}
namespace cg = cooperative_groups;
__global__ void kernel(int *at)
{
    cg::this_thread_block().sync();
    theirs::nvshmem_int_p(at, NVSHMEM_CMP_GE, theirs::nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD));
    nvshmem_sync(NVSHMEM_TEAM_WORLD);
}
int main()
{
    theirs::nvshmem_init();
    if (nvshmemx_init_status() != NVSHMEM_STATUS_IS_INITIALIZED)
        NVSHMEMI_ERROR_PRINT("status %d\n", NVSHMEMX_SUCCESS);
    int *at = (int *)nvshmem_malloc(4);
    void *args[] = {&at};
    nvshmemx_collective_launch((const void *)kernel, dim3(1), dim3(1), args, 0, 0);
    nvshmem_int_p(at, 1, nvshmem_my_pe());
    return nvshmem_sync(NVSHMEM_TEAM_WORLD);
}
`

// deviceOlder includes another library's shmem.h, whose names the headers must not use, and calls an
// extension behind nvshmem.h alone.
const deviceOlder = `typedef void *shmem_team_t;
typedef struct shmem_ctx *shmem_ctx_t;
extern "C" int shmem_my_pe(void);
extern "C" void shmem_int_put(int *dest, const int *source, size_t nelems, long pe);
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_CMP_EQ 7
#include <nvshmem.h>
__global__ void kernel(int *at)
{
    nvshmemx_int_put_block(at, at, 1, 0);
    nvshmem_int_wait_until(at, NVSHMEM_CMP_EQ, 1);
}
`

// TestDeviceLink builds a program as its users do, with the installed headers, and checks what it
// needs: the library of this surface alone.
func TestDeviceLink(t *testing.T) {
	nvcc, build, home := need.NVCC(t), need.Build(t), t.TempDir()
	for from, to := range map[string]string{"../../include/nvshmem": "nvshmem", "../../device/shmem": "shmem"} {
		if out, err := exec.Command("cp", "-r", from, filepath.Join(home, to)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ways := []string{"true", "false"}
	if need.Left("programs") {
		ways = ways[:1]
	}
	for _, rdc := range ways {
		t.Run("rdc="+rdc, func(t *testing.T) {
			program := filepath.Join(home, "shift-"+rdc)
			compile(t, nvcc, "-rdc="+rdc, "-std=c++17", "-arch=sm_75", "-ccbin", "g++", "-Werror", "all-warnings", "-I"+filepath.Join(home, "nvshmem"), "testdata/shift.cu",
				"-o", program, "-L"+filepath.Join(build, "lib"), "-lnvshmem_host", "-lnvshmem_device")
			out, err := exec.Command("readelf", "-d", program).Output()
			if err != nil || !strings.Contains(string(out), "[libshmem_nvshmem.so]") || strings.Contains(string(out), "[libshmem.so]") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
