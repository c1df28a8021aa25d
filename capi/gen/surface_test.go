package main

import (
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

// another returns a surface of this test alone, over the library's own: two element types of each
// row, no deprecated names at the host, a constant of its own, and a function with another meaning.
func another() *spec.Surface {
	return &spec.Surface{
		Name: "tsh", Over: spec.Shmem, Library: "libtsh.so", Node: "TSH_1", Generics: true, Profiled: true,
		Headers: spec.Headers{File: "tsh.h", About: "tsh.h: names of a test.\n", Types: `
#include <shmem.h>

typedef shmem_team_t tsh_team_t;
typedef shmem_team_config_t tsh_team_config_t;
typedef shmem_ctx_t tsh_ctx_t;
typedef shmem_ctx_session_config_t tsh_ctx_session_config_t;
`},
		Beyond: spec.Headers{File: "tshx.h", About: "tshx.h: names of a test.\n", Types: `
#include <shmemx.h>

typedef shmemx_uniqueid_t tshx_uniqueid_t;
typedef shmemx_init_attr_t tshx_init_attr_t;
typedef shmemx_error_handler_t tshx_error_handler_t;
typedef shmemx_eager_t tshx_eager_t;
typedef shmemx_mesh_options_t tshx_mesh_options_t;
typedef shmemx_mesh_block_t tshx_mesh_block_t;
typedef shmemx_mesh_signal_t tshx_mesh_signal_t;
`},
		Handles: []spec.Handle{{C: "tsh_team_t", Letter: "i"}, {C: "tsh_ctx_t", Letter: "i"}, {C: "tshx_error_handler_t", Letter: "P"}},
		Row: func(f *spec.Family) bool {
			few := func(types []spec.Type) []spec.Type {
				return slices.DeleteFunc(slices.Clone(types), func(t spec.Type) bool { return t.Name != "float" && t.Name != "uint64" })
			}
			f.Types = few(f.Types)
			for i := range f.Kernel {
				k := &f.Kernel[i]
				if had := len(k.Types); had > 0 {
					if k.Types = few(k.Types); len(k.Types) == 0 {
						k.Body = "" // none of its types is left
					}
				}
			}
			if f.Stream != nil {
				f.Stream.Types = few(f.Stream.Types)
			}
			if f.Instead != "" {
				f.Front = ""
			}
			if f.Name == "pe_accessible" {
				f.Front = "pe == 4711 ? 4711 : $base($args)"
			}
			return f.Front != "" || f.Kernel != nil || f.Stream != nil
		},
		Constant: func(c *spec.Constant) bool {
			if c.Name == "TSH_VENDOR_STRING" {
				c.Value = `"names of a test"`
			}
			return true
		},
	}
}

// TestSurface makes everything of another surface, compiles it, and runs the programs that call
// each of its names.
func TestSurface(t *testing.T) {
	build, root := need.Build(t), t.TempDir()
	s := another()
	files, err := surfaceFiles(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Concat(files, madeFiles(s)) {
		write(t, filepath.Join(root, f.Path), f.Text)
	}
	if err := writePages(s, filepath.Join(root, "man")); err != nil {
		t.Fatal(err)
	}

	cc := func(t *testing.T, args ...string) {
		t.Helper()
		run := exec.Command("gcc", append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I" + root + "/include", "-I../../include", "-I" + filepath.Join(root, buildPath(s, "front"))}, args...)...)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%v\n%.4000s", run.Args, err, out)
		}
	}
	functions, err := filepath.Glob(filepath.Join(root, buildPath(s, "front"), "*.c"))
	if err != nil || len(functions) < 10 {
		t.Fatalf("%d files of functions, %v", len(functions), err)
	}
	library := filepath.Join(root, s.Library)
	cc(t, append(functions, "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, "-Wl,--version-script="+filepath.Join(root, mapFile(s)),
		"-L"+filepath.Join(build, "lib"), "-lshmem", "-Wl,-z,defs")...)
	t.Run("symbols", func(t *testing.T) { exportsAll(t, s, library) })

	programs, err := filepath.Glob(filepath.Join(root, buildPath(s, "c"), "*.c"))
	if err != nil || len(programs) < 8 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	for _, source := range programs {
		program := strings.TrimSuffix(source, ".c")
		t.Run(filepath.Base(program), func(t *testing.T) {
			cc(t, source, "-pthread", "-I../../tests/c", "-I../../device", "-o", program, "-L"+root, "-ltsh", "-L"+filepath.Join(build, "lib"), "-lshmem", "-lm")
			run := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--timeout", "120", program)
			run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+root)
			out, err := run.CombinedOutput()
			if err != nil || !regexp.MustCompile(`[1-9]\d* passed, 0 failed`).Match(out) {
				t.Errorf("%v\n%.3000s", err, out)
			}
		})
	}
	t.Run("differs", func(t *testing.T) { differs(t, root, cc, build) })
	t.Run("kernels", func(t *testing.T) { compilesKernels(t, s, root) })
	t.Run("python", func(t *testing.T) { speaksPython(t, root, build) })
	t.Run("words", func(t *testing.T) { ownWords(t, s, files, root) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// exportsAll compares what the library exports with the surface's names.
func exportsAll(t *testing.T, s *spec.Surface, library string) {
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if name, node, ok := strings.Cut(fields[len(fields)-1], "@@"); ok && node == s.Node {
			there[name] = true
		}
	}
	for _, name := range s.Exported() {
		if !there[name] {
			t.Errorf("%s is not exported with %s", name, s.Node)
		}
		delete(there, name)
	}
	if left := slices.Sorted(maps.Keys(there)); len(left) > 0 {
		t.Errorf("exported and not listed: %v", left)
	}
}

// differs calls the function whose row has another meaning, and prints the constant.
func differs(t *testing.T, root string, cc func(*testing.T, ...string), build string) {
	source := filepath.Join(root, "differs.c")
	write(t, source, `#include <tshx.h>
#include <tsh.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    tsh_init();
    int answers[3] = {tsh_pe_accessible(0), tsh_pe_accessible(7), tsh_pe_accessible(4711)};
    int same = TSH_CMP_GE == SHMEM_CMP_GE && TSH_TEAM_WORLD == SHMEM_TEAM_WORLD;
    printf("%d %d %d %d %s\n", answers[0], answers[1], answers[2], same, TSH_VENDOR_STRING);
    tsh_finalize();
    return 0;
}
`)
	program := filepath.Join(root, "differs")
	cc(t, source, "-o", program, "-L"+root, "-ltsh", "-L"+filepath.Join(build, "lib"), "-lshmem")
	run := exec.Command(program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+root+":"+filepath.Join(build, "lib"))
	if out, err := run.CombinedOutput(); err != nil || string(out) != "1 0 4711 1 names of a test\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// compilesKernels has nvcc compile a kernel that names each function of kernels.
func compilesKernels(t *testing.T, s *spec.Surface, root string) {
	nvcc := need.NVCC(t)
	var b strings.Builder
	for _, h := range s.Kernels() {
		b.WriteString("#include <tsh/zz_" + h.File + ".h>\n")
	}
	b.WriteString(`
__global__ void kernel(float *to, const float *from, uint64_t *signal, tsh_team_t team, int pe)
{
    tsh_float_put(to, from, 4, pe);
    tshx_float_put_nbi_block(to, from, 4, pe);
    tsh_uint64_atomic_add(signal, 1, pe);
    tsh_float_put_signal(to, from, 4, signal, 1, TSH_SIGNAL_SET, pe);
    tsh_signal_wait_until(signal, TSH_CMP_GE, 1);
    tsh_float_sum_reduce(team, to, from, 4);
    tshx_barrier_all_block();
    tsh_quiet();
    *to = (float)tsh_my_pe();
}
`)
	source := filepath.Join(root, "kernel.cu")
	write(t, source, b.String())
	run := exec.Command(nvcc, "-std=c++17", "-arch=sm_75", "-ptx", "-ccbin", "gcc", "-I"+root+"/include", "-I"+root+"/device", "-I../../include",
		"-I../../device", "-o", filepath.Join(root, "kernel.ptx"), source)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%v\n%.4000s", run.Args, err, out)
	}
	ptx, err := os.ReadFile(filepath.Join(root, "kernel.ptx"))
	if err != nil || !strings.Contains(string(ptx), ".entry") {
		t.Errorf("no kernel in what nvcc made (%v)", err)
	}
}

// speaksPython loads the library by the generated table, and calls functions that forward to it:
// plain arrays as they go to a neighbour, what else there is, and what is refused.
func speaksPython(t *testing.T, root, build string) {
	path := strings.Join([]string{filepath.Join(root, "python"), "../../python", need.Numpy(t)}, ":")
	run := exec.Command("python3", "-c", `
import ctypes, numpy, shmem
from tsh import _abi, _zz_atomics as atomics, _zz_rma as rma, _zz_signal as signals, _zz_wait as waits
lib = _abi.Library(ctypes.CDLL("libtsh.so"))
major, minor = ctypes.c_int(), ctypes.c_int()
lib.tsh_info_get_version(ctypes.addressof(major), ctypes.addressof(minor))
shmem.init()
word = lib.tsh_malloc(8)
lib.tsh_uint64_p(word, 42, 0)
print(major.value, minor.value, _abi.TSH_CMP_GE, lib.tsh_n_pes(), lib.tsh_uint64_g(word, 0), lib.tsh_uint64_atomic_fetch_add(word, 1, 0))
box, old, context = shmem.zeros(2, "u8"), numpy.zeros(1, "u8"), shmem.Context()
for how in ({"context": context}, {}, {}):
    atomics.atomic_add(box, 3, 0, index=1, **how)
    print(atomics.atomic_compare_swap(box, 0, 7, 0, **how), atomics.atomic_fetch_inc(box, 0, **how), end=" ")
atomics.atomic_fetch_add_nbi(old, box, 5, 0)
shmem.quiet()
print(old, box)
far, here = shmem.zeros((2, 3), "f4"), numpy.zeros(3, "f4")
for how in ({"context": context}, {}, {}):
    rma.p(far, rma.g(far, 0, index=4, **how) + 1.5, 0, index=4, **how)
    rma.put(far[0], far[1], 0, **how)
    rma.get(here, far[0], 0, **how)
    print(here, end=" ")
rma.put(far[:, 2], [8, 9], 0)
rma.get_nbi(here, far[1], 0)
shmem.quiet()
short = shmem.zeros(2, "i2")
rma.p(short, -2, 0, index=1)
print(here, short, rma.g(short, 0, index=1))
for how in ({"context": context}, {}, {}):
    signals.signal_set(box, 5, 0, **how)
    signals.signal_add(box, -2, 0, **how)
signals.put_signal_nbi(far, [7], box, 4, 0, op="add")
shmem.quiet()
print(signals.signal_fetch(box), far[0, 0])
waits.wait_until(box, ">", 6)
print(waits.test(box, "==", 7), waits.test(box, "<", 7), waits.signal_wait_until(box, "!=", 0))
try:
    atomics.atomic_add(shmem.zeros(1, "i8"), 1, 0)
except shmem.DtypeError as error:
    print(error)
shmem.finalize()
try:
    atomics.atomic_inc(box, 0)
except shmem.StateError as error:
    print(error.cause)
`)
	run.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONDONTWRITEBYTECODE=1",
		"LD_LIBRARY_PATH="+root+":"+filepath.Join(build, "lib"))
	const want = `1 6 5 1 42 42
0 7 8 8 9 9 [10] [15  9]
[0.  1.5 0. ] [0. 3. 0.] [0.  4.5 0. ] [0.  4.5 9. ] [ 0 -2] -2
7 7.0
True False 7
atomic_add an array of int64: it has no such type (use uint64)
called after shmem.finalize
`
	if out, err := run.CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("%v, %s", err, out)
	}
}

// ownWords looks for the words of the surface below in what users read: headers, manual pages,
// the table of Python, the names of kernels.
func ownWords(t *testing.T, s *spec.Surface, files []file, root string) {
	foreign := map[string]bool{}
	for _, name := range slices.Concat(spec.Shmem.Names(), spec.Shmem.ExtensionNames(), spec.Shmem.KernelNames()) {
		foreign[name] = true
	}
	for _, g := range slices.Concat(spec.Shmem.Constants(), spec.Shmem.ExtensionConstants()) {
		for _, c := range g.Constants {
			foreign[c.Name] = true
		}
	}
	heading := regexp.MustCompile(`OpenSHMEM 1\.6, SHMEM_\w+`) // of the specification
	look := func(path, text string) {
		text = heading.ReplaceAllString(text, "")
		for _, name := range regexp.MustCompile(`\b\w+\b`).FindAllString(text, -1) {
			if foreign[name] {
				t.Errorf("%s has %s", path, name)
				return
			}
		}
	}
	for _, f := range files {
		if strings.HasPrefix(f.Path, "include/") || strings.HasPrefix(f.Path, "python/") {
			text := strings.ReplaceAll(f.Text, s.Types, "")
			look(f.Path, strings.ReplaceAll(text, s.Beyond.Types, ""))
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "man", "man3", "*"))
	if err != nil || len(pages) < 300 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, path := range pages {
		if name := strings.TrimSuffix(filepath.Base(path), ".3"); !strings.HasPrefix(strings.TrimPrefix(name, "p"), s.Name) {
			t.Errorf("a page of %s", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		look(path, string(text))
	}
}

// TestNoPublicNames: the generator takes every public name from a surface.
func TestNoPublicNames(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	public := regexp.MustCompile(`\b_?(shmemx?|SHMEMX?)_\w*`)
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			code, _, _ := strings.Cut(line, "// ")
			if name := public.FindString(code); name != "" {
				t.Errorf("%s:%d: %s", source, n, name)
			}
		}
	}
}
