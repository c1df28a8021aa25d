package experiments

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"libshmem/tests/need"
)

// TestSlowNVSHMEM delays a call of one PE with a library that has NVSHMEM's names alone: init asks
// that library for the PE's number, and not for one of OpenSHMEM.
func TestSlowNVSHMEM(t *testing.T) {
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libnvshmem_host.so.3"), filepath.Join(dir, "program")
	for file, source := range map[string]string{
		library + ".c": "int nvshmem_my_pe(void) { return 3; } int nvshmem_n_pes(void) { return 4; } void nvshmem_init(void) {} void nvshmem_quiet(void) {} void nvshmem_finalize(void) {}",
		program + ".c": "#include <stdio.h>\nvoid nvshmem_init(void); void nvshmem_quiet(void); void nvshmem_finalize(void);\nint main(void) { nvshmem_init(); nvshmem_quiet(); nvshmem_finalize(); puts(\"done\"); return 0; }",
	} {
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compile := run("gcc", "-w", "-fPIC")
	compile(t, "-shared", "-o", library, library+".c")
	compile(t, "-o", program, program+".c", library, "-Wl,-rpath,"+dir)
	for _, mode := range []string{"slow:nvshmem_quiet=1ms,pe=3", "early"} {
		cmd := exec.Command("timeout", "60", program)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(need.Build(t), "lib", "libshmem_preload.so"), "SHMEM_PRELOAD="+mode)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "done\n" {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
}
