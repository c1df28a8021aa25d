package ofi

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

const kernelSymbols = "/proc/kallsyms"

// TestSymbols: the first question of a process does not read the kernel's symbol table if no NIC
// needs it, gets the same answer as with it, and leaves libfabric's import of fopen as it was.
func TestSymbols(t *testing.T) {
	if how := os.Getenv(questionVariable); how != "" {
		askFirst(t, how)
		return
	}
	need.File(t, kernelSymbols)
	if needsSymbols(rdmaFolders) {
		t.Skip("this machine has NICs for RDMA, for which libfabric reads the table")
	}
	size := sizeOfSymbols(t)
	if size < 1<<20 {
		t.Skipf("%s has %d bytes: to read it costs nothing", kernelSymbols, size)
	}
	without, readWithout := firstQuestion(t, "without a NIC")
	with, readWith := firstQuestion(t, "with a NIC")
	if readWithout >= size {
		t.Errorf("without a NIC for RDMA the first question reads %d bytes, and %s has %d", readWithout, kernelSymbols, size)
	}
	if readWith < size {
		t.Errorf("with a NIC for RDMA the first question reads %d bytes, and %s has %d", readWith, kernelSymbols, size)
	}
	if without != with {
		t.Errorf("offers without the table:\n%s\nwith it:\n%s", without, with)
	}
}

func sizeOfSymbols(t *testing.T) int64 {
	f, err := os.Open(kernelSymbols)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := io.Copy(io.Discard, f)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// firstQuestion returns the offers that a new process finds, and the bytes that it has read to find
// them.
func firstQuestion(t *testing.T, how string) (offers string, read int64) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSymbols$", "-test.v")
	cmd.Env = append(os.Environ(), questionVariable+"="+how)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if n, ok := strings.CutPrefix(line, "read "); ok {
			_, _ = fmt.Sscan(n, &read) // an error leaves 0, which fails
		} else if strings.HasPrefix(line, "offer ") {
			offers += line
		}
	}
	if offers == "" || read == 0 {
		t.Fatalf("no answer\n%s", out)
	}
	return offers, read
}

const questionVariable = "OFI_TEST_QUESTION"

// askFirst is the process of firstQuestion.
func askFirst(t *testing.T, how string) {
	if _, err := Load(""); err != nil {
		t.Fatal(err)
	}
	if how == "with a NIC" {
		rdmaFolders = []string{"/proc/self"} // which lists something
	}
	before, by := bytesRead(t), openedBy()
	offers, err := List("", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("\nread", bytesRead(t)-before)
	for _, o := range offers {
		fmt.Printf("offer %+v\n", o)
	}
	if by == 0 || openedBy() != by {
		t.Errorf("libfabric's fopen is at %#x, and was at %#x", openedBy(), by)
	}
}

// bytesRead returns how much this process has read since it began.
func bytesRead(t *testing.T) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanf(bytes.NewReader(text), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNeedsSymbols: libfabric reads the table where the kernel lists NICs for RDMA, or may list
// them.
func TestNeedsSymbols(t *testing.T) {
	empty, full, manager := t.TempDir(), t.TempDir(), t.TempDir()
	file := filepath.Join(full, "mlx5_0")
	for _, path := range []string{file, filepath.Join(manager, "rdma_cm")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	absent := filepath.Join(empty, "absent")
	for _, c := range []struct {
		what    string
		folders []string
		want    bool
	}{
		{"no folders", []string{absent, absent}, false},
		{"empty folders", []string{empty, empty}, false},
		{"a NIC", []string{full, absent}, true},
		{"a device file alone", []string{absent, full}, true},
		{"the connection manager alone", []string{absent, manager}, false},
		{"a folder that is none", []string{file, absent}, true},
	} {
		if got := needsSymbols(c.folders); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
