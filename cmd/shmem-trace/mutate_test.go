package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
	"libshmem/tests/mutate"
)

// traces returns the files of a job of two PEs with all that a reader of traces looks at.
func traces() [][]byte {
	var all [][]byte
	for pe := range 2 {
		f := sample.Head(pe, 2, `"host":"red","program":"p","library":"l","lost":0,"clock":[{"at":1,"offset":-1,"error":0.5},{"at":9,"offset":7,"error":0}]`)
		f.Raw(`{"ph":"M","name":"libshmem_team","args":{"team":4,"pes":[0,1]}}`)
		f.Call("shmem_init", 0, 10, "")
		f.Call("shmem_putmem", 1000, 20, `"pe":1,"bytes":8`)
		f.CallOf(2, "shmem_long_p", 1500, 20, `"pe":0,"bytes":8`)
		f.Call("shmem_int_iput", 2000, 20, `"pe":1,"bytes":64`)
		f.Call("shmem_long_wait_until", 3000, 500, "")
		f.Call("shmem_barrier_all", 4000, 900, `"team":0`)
		f.Call("shmem_broadcastmem", 6000, 100, `"team":4,"bytes":8`)
		f.Call("shmem_malloc", 7000, 100, `"team":0,"bytes":8`)
		f.Call("shmem_finalize", 9000, 10, "")
		all = append(all, []byte(f.Text()))
	}
	return all
}

// TestMutations has each command read a trace of which one file was changed. It refuses the trace
// by one line with a remedy, or takes it.
func TestMutations(t *testing.T) {
	samples, dir, out := traces(), t.TempDir(), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(filepath.Join(dir, "1.json"), samples[1], 0o666); err != nil {
		t.Fatal(err)
	}
	mutate.Each(t, samples[:1], func(in []byte) {
		if err := os.WriteFile(filepath.Join(dir, "0.json"), in, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"report", dir}, {"merge", dir, "-o", out}, {"replay", dir, "--hosts", []string{"1", "2"}[len(in)%2]},
		} {
			var stdout, stderr bytes.Buffer
			status := run(args, &stdout, &stderr)
			said := stderr.String()
			if status != statusOK && (status != statusError || !strings.HasPrefix(said, "shmem-trace: ") || !strings.HasSuffix(said, ")\n")) {
				t.Errorf("%s: status %d, %q", args[0], status, said)
			}
		}
	})
}
