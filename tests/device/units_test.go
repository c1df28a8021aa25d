package device

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestUnits links programs of several translation units, as users do, against a library that stands
// for libshmem.so, and runs them. No GPU is needed: a unit registers itself before it queries one.
func TestUnits(t *testing.T) {
	nvcc := need.NVCC(t)
	cuda := filepath.Join(filepath.Dir(filepath.Dir(nvcc)), "lib")
	dir := t.TempDir()
	tool := func(t *testing.T, name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	// The wheel of the run time has no name for the linker.
	if err := os.Symlink(filepath.Join(cuda, "libcudart.so.13"), at("libcudart.so")); err != nil {
		t.Fatal(err)
	}
	tool(t, cc.C(), "-shared", "-fPIC", "-I../../device", "-I../../include",
		"-o", at("libshmem.so"), "testdata/units/library.c")
	compile := []string{"-std=c++14", "-arch=sm_75", "-ccbin", cc.C(), "-Werror", "all-warnings",
		"-Xcompiler", "-Wall,-Wextra,-fPIC", "-I../../device", "-I../../include", "-c"}
	for _, name := range []string{"main", "other", "late"} {
		tool(t, nvcc, append(compile, "-o", at(name+".o"), "testdata/units/"+name+".cu")...)
	}
	for _, c := range []struct {
		name string
		link []string // how CUDA's run time is linked
		env  string
	}{
		{"static", []string{nvcc, "-cudart", "static"}, ""},
		{"shared", []string{nvcc, "-cudart", "shared"}, cuda},
		{"g++", []string{cc.CXX(), "-L" + cuda, "-lcudart_static", "-ldl", "-lrt", "-lpthread"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, late := at(c.name), at("lib"+c.name+"_late.so")
			link := func(output string, objects ...string) {
				t.Helper()
				args := append(objects, "-o", output, "-L"+dir, "-lshmem")
				tool(t, c.link[0], append(args, c.link[1:]...)...)
			}
			link(program, at("main.o"), at("other.o"))
			link(late, "-shared", at("late.o"))
			cmd := exec.Command(program, late)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir+":"+c.env, "CUDA_VISIBLE_DEVICES=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := string(out)
			comes := func(unit string) string {
				return fmt.Sprintf("comes: %s, version %d, sizes 48 160 1184\n", unit, queue.Version)
			}
			for _, want := range []string{
				comes("main.cu"),
				comes("other.cu"),
				"host: PE 42\ncontext: 1, 16 bytes\n",
				comes("late.cu"),
			} {
				if strings.Count(text, want) != 1 {
					t.Errorf("%q is there %d times", want, strings.Count(text, want))
				}
			}
			// Each unit has its own function, which is called and reports the error.
			if n := strings.Count(text, "set: main.cu: "); n != 2 {
				t.Errorf("main.cu is set %d times, want 2", n)
			}
			if n := strings.Count(text, "set: late.cu: "); n != 1 || strings.Contains(text, ": done\n") || strings.Contains(text, ": no error\n") {
				t.Errorf("late.cu is set %d times, want 1, and without a GPU none of them is done", n)
			}
			loaded := strings.Index(text, "comes: late.cu")
			if rest := text[max(loaded, 0):]; !strings.Contains(rest, "goes: late.cu\ngoes: ") || strings.Contains(text, "unknown") {
				t.Error("late.cu does not go first, or goes twice")
			}
			if strings.Count(text, "goes: ") != 3 {
				t.Errorf("%d units go, want 3", strings.Count(text, "goes: "))
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}
