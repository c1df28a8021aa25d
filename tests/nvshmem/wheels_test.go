package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestWheels extracts the facts from the wheels and compares them with the committed facts, which
// all other tests use. It fetches some 500 MB by pip, or uses the wheels in the folder
// NVSHMEM_WHEELS.
func TestWheels(t *testing.T) {
	if need.Left("wheels") {
		t.Skip("make test-full fetches the wheels")
	}
	versions, out := []string{"3.4.5", "3.7.2", newest}, t.TempDir()
	args := append([]string{"scripts/nvshmem_facts.py", "--out", out}, versions...)
	if wheels := os.Getenv("NVSHMEM_WHEELS"); wheels != "" {
		args = append(args, "--wheels", wheels)
	}
	cmd := exec.Command("python3", args...)
	cmd.Dir = "../.."
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, version := range versions {
		for _, kind := range []string{"", "device-"} {
			name := "nvshmem-" + kind + version + ".tsv"
			have, err := os.ReadFile(filepath.Join("../../capi/spec/testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			is, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			committed, wheel := map[string]bool{}, map[string]bool{}
			for line := range strings.Lines(string(have)) {
				committed[line] = true
			}
			for line := range strings.Lines(string(is)) {
				if wheel[line] = true; !committed[line] {
					t.Errorf("%s: the wheel has %s", name, line)
				}
			}
			for line := range committed {
				if !wheel[line] {
					t.Errorf("%s: the wheel lacks %s", name, line)
				}
			}
			if len(wheel) < 1000 {
				t.Errorf("%s: %d facts", name, len(wheel))
			}
		}
	}
}
