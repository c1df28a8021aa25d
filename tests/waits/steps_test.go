package waits

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSleep is the sleep protocol, one step at a time.
func TestSleep(t *testing.T) { run(t, "asleep") }

// TestMoving is the choice of another processor.
func TestMoving(t *testing.T) { run(t, "moving") }

// run builds and runs a program of testdata, which includes the C file under test.
func run(t *testing.T, name string) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), name)
	args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all"}
	for _, dir := range []string{"include", "abi", "device", "capi/front"} {
		args = append(args, "-I"+filepath.Join("../..", dir))
	}
	if out, err := exec.Command("gcc", append(args, "-o", program, "testdata/"+name+".c")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
