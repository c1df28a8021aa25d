package stub

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"libshmem/tests/cc"
)

// compiled returns a program of testdata on the library.
func compiled(t *testing.T, name, library string, flags ...string) string {
	t.Helper()
	program := filepath.Join(filepath.Dir(library), name) // as the library it is made once
	if _, err := os.Stat(program); err == nil {
		return program
	}
	args := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/" + name + ".c", library, "-Wl,-rpath," + filepath.Dir(library)}
	cc.Run(t, cc.C(), append(args, flags...)...)
	return program
}

// RDMA lands in a process that is stopped, and one that is killed is found to be gone, by the
// error of the provider.
func TestStoppedAndKilled(t *testing.T) {
	program := compiled(t, "pair", Build(t))
	for _, n := range []struct {
		settings, fabric string
		err              syscall.Errno
	}{
		{"version=1.22", "", syscall.ENOTCONN},
		{"version=2.6", direct, syscall.ENOTCONN},
		{"version=2.6", rdm, syscall.ENOTCONN},
		{"version=2.6 gone=silent", direct, syscall.ECONNABORTED},
		{"version=2.6 gone=silent", rdm, syscall.ECONNABORTED},
		{"provider=cxi", "", syscall.EIO},
		{"provider=verbs", "", syscall.EIO},
	} {
		cmd := exec.Command(program)
		if n.fabric != "" {
			cmd.Args = append(cmd.Args, n.fabric)
		}
		cmd.Env = append(os.Environ(), "FAKE_NIC="+n.settings)
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf("stopped: all there\nkilled: %d\n", n.err)
		if err != nil || string(out) != want {
			t.Errorf("%s over %s: %v\n%swant\n%s", n.settings, n.fabric, err, out, want)
		}
	}
}

// Nothing is left behind: neither by a process that closes its endpoints, nor by one that is
// killed once another has started.
func TestNoFilesLeft(t *testing.T) {
	library, dir := Build(t), t.TempDir()
	pair, breaks := compiled(t, "pair", library), compiled(t, "breaks", library)
	for _, argv := range [][]string{{pair}, {breaks, "wait"}, {breaks, "send-long"}, {breaks, "no-context"}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "FAKE_NIC=dir="+dir)
		out, _ := cmd.CombinedOutput()
		t.Logf("%s", out)
	}
	left := func() []os.DirEntry {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	if len(left()) == 0 {
		t.Error("no file is left, although processes were killed")
	}
	// The next that opens an endpoint sweeps, and closes its own.
	c := compiled(t, "closes", library)
	cmd := exec.Command(c)
	cmd.Env = append(os.Environ(), "FAKE_NIC=dir="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if files := left(); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}
