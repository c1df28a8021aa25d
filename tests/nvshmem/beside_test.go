package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestBeside runs a program with two libraries of the same names, linked in either order. The other
// library is the test's own, or Open MPI's. Behind the test's own library it is loaded as late as a
// library that libshmem_nvshmem.so needs.
func TestBeside(t *testing.T) {
	build := need.Build(t)
	lib, work := filepath.Join(build, "lib"), t.TempDir()
	fake, behind, empty := filepath.Join(work, "liboshmem.so"), filepath.Join(work, "libbehind.so"), filepath.Join(work, "empty.c")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	compile(t, "gcc", "-std=gnu11", "-shared", "-fPIC", "-Wl,-soname,liboshmem.so", "testdata/liboshmem.c", "-o", fake)
	compile(t, "gcc", "-shared", "-fPIC", empty, "-Wl,--no-as-needed", fake, "-Wl,-soname,libbehind.so", "-o", behind)
	// The linker's view: it defines the names itself.
	front := filepath.Join(t.TempDir(), "libbehind.so")
	compile(t, "gcc", "-std=gnu11", "-shared", "-fPIC", "-Wl,-soname,libbehind.so", "testdata/liboshmem.c", "-o", front)

	run := func(t *testing.T, pes int, launcher []string, links ...string) {
		t.Helper()
		program := filepath.Join(t.TempDir(), "beside")
		args := append([]string{"-std=gnu11", "-g", "-I../../include/nvshmem", "testdata/beside.c", "-o", program, "-L" + lib, "-Wl,--no-as-needed"}, links...)
		compile(t, "gcc", append(args, "-ldl")...)
		argv := append(launcher, program)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib+":"+work, "SHMEM_PROVIDER=tcp",
			"OMPI_MCA_osc=^rdma") // with it shmem_finalize of Open MPI 4.1 crashes in any program
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != strings.Repeat("passed\n", pes) {
			t.Errorf("%v: %v\n%s", links, err, out)
		}
	}
	t.Run("fake", func(t *testing.T) {
		run(t, 1, nil, fake, "-lnvshmem_host")
		run(t, 1, nil, "-lnvshmem_host", fake)
		run(t, 1, nil, "-lnvshmem_host", front)
		t.Setenv("NVSHMEM_BOOTSTRAP", "shmem")
		run(t, 1, nil, fake, "-lnvshmem_host")
	})
	t.Run("Open MPI", func(t *testing.T) {
		need.Command(t, "oshrun")
		launcher := []string{"oshrun", "--allow-run-as-root", "--oversubscribe", "-n", "2"}
		run(t, 2, launcher, "-loshmem", "-lnvshmem_host")
		run(t, 2, launcher, "-lnvshmem_host", "-loshmem")
		t.Setenv("NVSHMEM_BOOTSTRAP", "SHMEM")
		run(t, 2, launcher, "-loshmem", "-lnvshmem_host")
	})
}

// TestAlone: without another OpenSHMEM the PEs cannot find each other, and without libshmem.so no
// function exists.
func TestAlone(t *testing.T) {
	build := need.Build(t)
	program, work := filepath.Join(t.TempDir(), "alone"), t.TempDir()
	source := filepath.Join(work, "alone.c")
	text := "#include <nvshmem.h>\n#include <nvshmemx.h>\nint main(int n, char **v) { nvshmemx_init_attr_t a; (void)v; if (n > 1) nvshmem_init(); return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &a); }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(build, "lib")
	compile(t, "gcc", "-I../../include/nvshmem", source, "-o", program, "-L"+lib, "-lnvshmem_host")
	library, err := os.ReadFile(filepath.Join(lib, "libshmem_nvshmem.so"))
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "libshmem_nvshmem.so"), library, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "libshmem.so")
	compile(t, "gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libshmem.so", "-o", older)
	for _, c := range []struct {
		path string
		args []string
		says string
	}{
		{lib, nil, "shmem: nvshmemx_init_attr: NVSHMEMX_INIT_WITH_SHMEM: the program has no OpenSHMEM with shmem_my_pe (link it, and call shmem_init first)\n"},
		{work, []string{"init"}, "shmem: load libshmem.so: libshmem.so: cannot open shared object file: No such file or directory (install all libraries from one release)\n"},
		{work + ":" + filepath.Dir(older), []string{"init"}, "shmem: load libshmem.so: libshmem.so has no shmem_"},
	} {
		cmd := exec.Command(program, c.args...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+c.path)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), c.says) {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
