package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// calling are the programs of tests/gpu that call each name, which tests/gpu/names.sh runs.
var calling = []string{"rma", "strided", "atomics", "waits", "colls", "singles"}

// TestNames runs tests/gpu/names.sh over invented programs.
func TestNames(t *testing.T) {
	const end = `[ "$1" = exit ] && { echo %_global_exit >>"$CALLED"; exit 7; }; `
	for _, c := range []struct {
		name, program, text string
		status              int
		want                string
	}{
		{"all", "", "", 0, "nvshmem: 7 names called, 7 in the table\n1 passed, 0 failed\n"},
		{"none calls it", "waits", `echo "1 passed, 0 failed"`, 1, "no program calls nvshmem_waits\n"},
		{"no such name", "colls", `echo nvshmem_colls >>"$CALLED"; echo nvshmem_old >>"$CALLED"`, 1, "the table has no nvshmem_old\n"},
		{"a program fails", "rma", `echo nvshmem_rma >>"$CALLED"; exit 1`, 1, "7 names called, 7 in the table\n"},
		{"the job goes on", "singles", `echo nvshmem_singles >>"$CALLED"; echo nvshmem_global_exit >>"$CALLED"`, 1, "singles: the job that a kernel ends with 7 ends with 0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, list := t.TempDir(), "# a list\nnvshmem_global_exit\n"
			write := func(name, text string) {
				path := filepath.Join(base, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			// The launcher's arguments end at the program.
			write("bin/shmemrun", "#!/bin/sh\nwhile :; do case $1 in */cuda/*) exec \"$@\" ;; esac; shift; done\n")
			for _, name := range calling {
				text := strings.ReplaceAll(end, "%", "nvshmem") + "echo nvshmem_" + name + ` >>"$CALLED"`
				if name == c.program {
					text = c.text
				}
				write("cuda/nvshmem-"+name, "#!/bin/sh\n"+text+"\n")
				list += "nvshmem_" + name + " alike\n"
			}
			write("cuda/nvshmem-scatter", "#!/bin/sh\n")
			write("names-nvshmem", list)
			out, err := exec.Command("../gpu/names.sh", base, "nvshmem", "-x", "A=b").CombinedOutput()
			if status := map[bool]int{true: 0, false: 1}[err == nil]; status != c.status || !strings.Contains(string(out), c.want) || strings.HasSuffix(string(out), "1 passed, 0 failed\n") != (c.status == 0) {
				t.Errorf("status %d, want %d and %q\n%s", status, c.status, c.want, out)
			}
		})
	}
}
