package preload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestSafe: processes that call no function of SHMEM print with the shim what they print without,
// and leave nothing behind.
func TestSafe(t *testing.T) {
	bin := t.TempDir()
	goes := func(name, cgo string) []string {
		out := filepath.Join(bin, name)
		cmd := exec.Command("go", "build", "-o", out, "./testdata/plain")
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return []string{out}
	}
	static := filepath.Join(bin, "static")
	cc.Run(t, cc.C(), "-static", "testdata/plain.c", "-o", static)
	programs := map[string][]string{
		"shell":   {"sh", "-c", "echo a; (echo b) | cat; x=$(echo c); echo $x; exec echo d"},
		"bash":    {"bash", "-c", "for i in 1 2 3; do /bin/echo $i & done; wait; cat < /dev/null"},
		"static":  {static},
		"python":  {"/usr/bin/python3", "-c", "import ctypes, os, subprocess; print(subprocess.check_output(['echo', 'x'])); print(ctypes.CDLL(None).getpid() == os.getpid()); os._exit(0) if os.fork() == 0 else os.wait()"},
		"go":      goes("pure", "0"),
		"go, cgo": goes("cgo", "1"),
		"missing": {"sh", "-c", "/does/not/exist 2>/dev/null; echo $?"},
	}
	if java, err := exec.LookPath("java"); err == nil {
		programs["java"] = []string{java, "-Xshare:auto", "-version"}
	}
	for name, argv := range programs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plain := job{dir: dir}.run(t, argv...)
			out := job{dir: dir, env: []string{"LD_PRELOAD=" + shim(t), "SHMEM_PRELOAD=trace"}}.run(t, argv...)
			if sorted(out) != sorted(plain) {
				t.Errorf("%q, and without the shim %q", out, plain)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("it has left %q", left)
			}
		})
	}
}

// TestUnset: without SHMEM_PRELOAD a program is traced into shmem-trace below its directory, and one
// that is started by a shell or an exec is, too.
func TestUnset(t *testing.T) {
	exe := program(t, "ends")
	for _, argv := range [][]string{
		{exe},
		{"sh", "-c", "cd /; cd \"$OLDPWD\"; " + exe + "; echo done"},
		{"env", "A=1", exe},
		{"/usr/bin/python3", "-c", "import os; os.execv('" + exe + "', ['" + exe + "'])"},
	} {
		dir := t.TempDir()
		job{dir: dir, env: []string{"LD_PRELOAD=" + shim(t), "LD_LIBRARY_PATH=" + filepath.Dir(shim(t))}}.run(t, argv...)
		if p := read(t, filepath.Join(dir, "shmem-trace", "0.json"), true); len(p.calls) != 102 {
			t.Errorf("%q: %d calls", argv, len(p.calls))
		}
	}
}

// TestLookups: functions that a program asks dlsym for are seen, those of a library that was opened
// with RTLD_LOCAL, too; names that the library lacks are not there.
func TestLookups(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(need.Build(t), "lib")
	plugin, exe := filepath.Join(dir, "plugin.so"), filepath.Join(dir, "lookups")
	cc.Run(t, cc.C(), "-shared", "-fPIC", "-I../../include", "testdata/plugin.c", "-o", plugin, "-L"+lib, "-lshmem")
	cc.Source(t, exe, "testdata/lookups.c", "-ldl")
	for _, how := range []string{"handle", "nvshmem", "plugin", "default"} {
		to, library, prefix := filepath.Join(dir, how), "libshmem.so", ""
		if how == "nvshmem" {
			library, prefix = "libshmem_nvshmem.so", "nv"
		}
		argv := []string{exe, how, filepath.Join(lib, library), plugin}
		plain := job{env: []string{"LD_LIBRARY_PATH=" + lib}}.run(t, argv...)
		if out := single(t, job{}, "", to, argv...); out != plain || !strings.Contains(out, "shmem_my_pe: 0") || !strings.Contains(out, "shmem_frobnicate: no") {
			t.Errorf("%s: %q, and without the shim %q", how, out, plain)
		}
		p := read(t, filepath.Join(to, "0.json"), true)
		want := strings.ReplaceAll("*shmem_init *shmem_my_pe *shmem_finalize", "*", prefix)
		if got := strings.Join(p.names(), " "); got != want {
			t.Errorf("%s: the calls are %s", how, got)
		}
	}
}

// TestUnseen: calls that go past the shim are named, also those of a program that exports nothing,
// whose table of hashes is empty.
func TestUnseen(t *testing.T) {
	for _, flag := range []string{"-pie", "-no-pie"} {
		p := traced(t, 2, "", program(t, "unseen", flag))[0]
		got := strings.Join(p.Unseen, ", ")
		for _, want := range []string{"pshmem_quiet", "loads and stores through the address that shmem_ptr has returned"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: unseen are %q, and not %q", flag, got, want)
			}
		}
		if len(p.Unseen) != 2 {
			t.Errorf("%s: unseen are %q", flag, got)
		}
	}
}
