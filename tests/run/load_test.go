package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestLoad: PEs of several hosts load libfabric while they wait for each other, and those of one
// host never do. PE 0 does not initialise before PE 1 loads libfabric, and PE 1 cannot finish that
// before.
func TestLoad(t *testing.T) {
	build := need.Build(t)
	program := cc.Program(t, build, "testdata/late.c")
	library := filepath.Join(t.TempDir(), "loaded.so")
	cc.Source(t, library, "testdata/loaded.c", "-shared", "-fPIC", "-Wl,--no-as-needed", "-l:libfabric.so.1")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		args  []string
		env   []string
		loads int
	}{
		{"two hosts", []string{"--hosts", "2"}, []string{"LOADED=" + pipe}, 2},
		{"one simulated host", []string{"--hosts", "1"}, nil, 0},
		{"this host", nil, nil, 0},
	} {
		args := append([]string{"--timeout", "60", "-n", "2"}, append(c.args, program)...)
		cmd := exec.Command(filepath.Join(build, "bin/shmemrun"), args...)
		cmd.Env = append(os.Environ(), append(c.env, "SHMEM_LIBFABRIC="+library, "SHMEM_BOOTSTRAP_TIMEOUT=20")...)
		text, err := cmd.CombinedOutput()
		out := string(text)
		if loads := strings.Count(out, "loads libfabric"); err != nil || loads != c.loads || strings.Count(out, "met") != 2 {
			t.Errorf("%s: %v, %d PEs load libfabric, want %d\n%s", c.name, err, loads, c.loads, out)
		}
	}
}
