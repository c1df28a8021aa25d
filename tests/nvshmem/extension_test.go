package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestExtension: an extension that was linked with this library, and torch, which finds a library of
// NVIDIA's soname by DT_RPATH, each reach their own in one process, whichever is imported first, and
// whether the names of the other are global.
func TestExtension(t *testing.T) {
	build, work := need.Build(t), t.TempDir()
	lib := filepath.Join(build, "lib")
	script, imports := filepath.Join(work, "theirs.map"), filepath.Join(work, "imports")
	theirs, torch, extension := filepath.Join(work, "libnvshmem_host.so.3"), filepath.Join(work, "libtorch_nvshmem.so"), filepath.Join(work, "extension.so")
	if err := os.WriteFile(script, []byte("NVSHMEM { global: nvshmem_*; local: *; };\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	compile(t, "gcc", "-shared", "-fPIC", "-DTHEIRS", "testdata/theirs.c", "-o", theirs, "-Wl,-soname,libnvshmem_host.so.3", "-Wl,--version-script="+script)
	compile(t, "gcc", "-shared", "-fPIC", "testdata/theirs.c", "-o", torch, theirs, "-Wl,--disable-new-dtags,-rpath,"+work)
	compile(t, "gcc", "-std=gnu11", "-shared", "-fPIC", "-I../../include/nvshmem", "testdata/extension.c", "-o", extension, "-L"+lib, "-lnvshmem_host", "-Wl,-rpath,"+lib)
	compile(t, "gcc", "-std=gnu11", "testdata/imports.c", "-o", imports, "-ldl")
	for _, order := range [][]string{{torch, extension}, {extension, torch}, {"+" + torch, extension}, {"+" + extension, torch}} {
		cmd := exec.Command(imports, order...)
		cmd.Env = append(os.Environ(), "SHMEM_HEAP=host")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "both work\n" {
			t.Errorf("%s: %v\n%s", strings.ReplaceAll(strings.Join(order, ", then "), work+"/", ""), err, out)
		}
	}
}

// TestBuiltAlready: a program that was linked with a library of NVIDIA's soname finds this one by it.
func TestBuiltAlready(t *testing.T) {
	build, work := need.Build(t), t.TempDir()
	lib := filepath.Join(build, "lib")
	program := filepath.Join(work, "extension")
	source := filepath.Join(work, "main.c")
	if err := os.WriteFile(source, []byte("int extension_works(void);\nint main(void) { return !extension_works(); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	compile(t, "gcc", "-std=gnu11", "-I../../include/nvshmem", "testdata/extension.c", source, "-o", program, filepath.Join(lib, "libnvshmem_host.so.3"),
		"-Wl,-rpath-link,"+lib)
	needed, err := exec.Command("readelf", "-d", program).Output()
	if err != nil || !strings.Contains(string(needed), "[libnvshmem_host.so.3]") || strings.Contains(string(needed), "[libshmem_nvshmem.so]") {
		t.Errorf("%v\n%s", err, needed)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "SHMEM_HEAP=host", "LD_LIBRARY_PATH="+lib)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
