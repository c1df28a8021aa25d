package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/runtime/config"
	"libshmem/tests/need"
)

// TestSettings: the variables of NVSHMEM apply, and wrong ones are reported once, if a program
// calls NVSHMEM's names; a program with only OpenSHMEM's names gets no such report.
func TestSettings(t *testing.T) {
	build := need.Build(t)
	lib := filepath.Join(build, "lib")
	env := append(os.Environ(), "LD_LIBRARY_PATH="+lib, "SHMEM_PROVIDER=tcp", "SHMEM_INFO=1",
		"NVSHMEM_QP_DEPTH=1000", "NVSHMEM_SYMMETRIC_SIZE=64m", "NVSHMEM_REMOTE_TRANSPORT=ibrc", "NVSHMEM_MAX_TEAM=9", "NVSHMEM_BOOTSTRAP=PMI", "NVSHMEM_DISABLE_NVLS=1")
	const (
		refused = "shmem: read setting NVSHMEM_REMOTE_TRANSPORT=\"ibrc\": ignored, "
		unknown = "shmem: read setting NVSHMEM_MAX_TEAM: NVSHMEM has no such variable, it is ignored (the nearest name is NVSHMEM_MAX_TEAMS; "
		ring    = "\nSHMEM_RING_SIZE=1024  [from NVSHMEM_QP_DEPTH, default 4096]\n"
		heap    = "\nSHMEM_SYMMETRIC_SIZE=64m  [from NVSHMEM_SYMMETRIC_SIZE, default 1g]\n"
	)
	run := func(t *testing.T, source, text string, flags ...string) string {
		t.Helper()
		program, file := filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), source)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		compile(t, "gcc", append([]string{file, "-o", program, "-L" + lib}, flags...)...)
		cmd := exec.Command(launcher(build), "-n", "2", "--timeout", "60", program)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), heap) {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, call := range []string{"nvshmem_init()", "{ int got; nvshmem_init_thread(0, &got); }", "nvshmemx_init_attr(0, 0)", "nvshmemx_hostlib_init_attr(0, 0)"} {
		t.Run(call, func(t *testing.T) {
			out := run(t, "nv.c", "#include <nvshmem.h>\n#include <nvshmemx.h>\nint main(void) { "+call+"; nvshmem_finalize(); return 0; }\n", "-I../../include/nvshmem", "-lnvshmem_host")
			if strings.Count(out, refused) != 1 || strings.Count(out, unknown) != 1 || strings.Count(out, "read setting") != 2 || !strings.Contains(out, ring) {
				t.Errorf("it prints\n%s", out)
			}
		})
	}
	t.Run("shmem_init", func(t *testing.T) {
		out := run(t, "own.c", "#include <shmem.h>\nint main(void) { shmem_init(); shmem_finalize(); return 0; }\n", "-I../../include", "-lshmem")
		if strings.Contains(out, "read setting") || strings.Contains(out, ring) {
			t.Errorf("it prints\n%s", out)
		}
	})
}

// TestRelease: commands print the release whose names the headers have.
func TestRelease(t *testing.T) {
	var release []string
	for _, part := range []string{"MAJOR", "MINOR", "PATCH"} {
		for _, g := range spec.Nvshmem.Constants() {
			for _, c := range g.Constants {
				if c.Name == "NVSHMEM_VENDOR_"+part+"_VERSION" {
					release = append(release, c.Value)
				}
			}
		}
	}
	if strings.Join(release, ".") != config.NvshmemVersion {
		t.Errorf("the headers are of %v, the commands say %s", release, config.NvshmemVersion)
	}
}
