package nvshmem

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/abi/table"
	"libshmem/tests/need"
)

// TestArchiveLayout holds the tables of NVIDIA's structures to the headers of the wheels: a program
// that includes them prints the size of each, and where each member lies.
func TestArchiveLayout(t *testing.T) {
	for _, r := range table.ArchiveReleases {
		t.Run(r.Version, func(t *testing.T) {
			include := archiveHeaders(t, r.Version)
			var source, want strings.Builder
			source.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <stdint.h>\n#include \"device_host/nvshmem_types.h\"\n#include \"device_host_transport/nvshmem_common_ibgda.h\"\nint main() {\n")
			print := func(what string, n int) {
				fmt.Fprintf(&source, "printf(\"%%s %%zu\\n\", \"%s\", (size_t)%s);\n", what, what)
				fmt.Fprintf(&want, "%s %d\n", what, n)
			}
			for _, name := range slices.Sorted(maps.Keys(table.ArchiveStructs)) {
				s := table.ArchiveStructs[name].Of(r.Minor)
				print("sizeof("+name+")", s.Bytes())
				for i, at := range s.Offsets() {
					m := &s.Members[i]
					member := cmp.Or(m.Theirs, m.Name)
					print("offsetof("+name+", "+member+")", at)
					print("sizeof((("+name+" *)0)->"+member+")", m.Size())
				}
			}
			print("sizeof(nvshmemi_ibgda_device_state_t)", 8384)
			print("offsetof(nvshmemi_ibgda_device_state_t, num_rc_per_pe)", 28)
			source.WriteString("}\n")
			file, program := filepath.Join(t.TempDir(), "layout.cc"), filepath.Join(t.TempDir(), "layout")
			if err := os.WriteFile(file, []byte(source.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			compile(t, "g++", "-w", "-I"+include, file, "-o", program)
			out, err := exec.Command(program).CombinedOutput()
			if err != nil || string(out) != want.String() {
				t.Errorf("%v\n%s", err, differs(want.String(), string(out)))
			}
		})
	}
}

// archiveHeaders returns the folder of the headers of a wheel, which make test-full fetches. Without
// it the test uses what an earlier make test-full, or make gpu-test, has fetched.
func archiveHeaders(t *testing.T, version string) string {
	t.Helper()
	folder := filepath.Join("../../build/tools", "nvshmem-"+version)
	if _, err := os.Stat(folder); err != nil {
		if need.Left("wheels") {
			t.Skip("make test-full fetches the wheel")
		}
		cmd := exec.Command("scripts/fetch_nvshmem.sh", version)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return filepath.Join(folder, "include")
}

// differs returns the lines that only one of two texts has.
func differs(want, is string) string {
	var b strings.Builder
	for line := range strings.Lines(want) {
		if !strings.Contains(is, line) {
			b.WriteString("not there: " + line)
		}
	}
	for line := range strings.Lines(is) {
		if !strings.Contains(want, line) {
			b.WriteString("there: " + line)
		}
	}
	return b.String()
}
