package tracereport

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"libshmem/tests/need"
)

// TestMany reads more events than memory could hold: what the report holds does not grow with them.
func TestMany(t *testing.T) {
	n := need.Load("trace")
	dir := t.TempDir()
	const pes = 2
	for pe := range pes {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(pe, ".json")))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		fmt.Fprintf(w, "[\n"+`{"ph":"M","name":"libshmem_trace","args":{"version":1,"pe":%d,"npes":%d,"host":"h"}}`, pe, pes)
		for i := range n / pes {
			if i%100 == 0 {
				fmt.Fprintf(w, ",\n"+`{"ph":"X","name":"shmem_barrier_all","cat":"shmem","pid":%d,"tid":7,"ts":%d.%03d,"dur":5,"args":{"team":0}}`, pe, 10*i+pe, i%1000)
				continue
			}
			fmt.Fprintf(w, ",\n"+`{"ph":"X","name":"shmem_putmem","cat":"shmem","pid":%d,"tid":7,"ts":%d.%03d,"dur":0.%03d,"args":{"pe":%d,"bytes":%d}}`,
				pe, 10*i, i%1000, i%1000, 1-pe, i%4096)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, _, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if r.Job.Calls != int64(n/pes*pes) || r.Waits.Collectives != int64((n/pes+99)/100) || r.Waits.Ns != r.Waits.Collectives*1000 {
		t.Errorf("%d calls, %d barriers, %d ns waited", r.Job.Calls, r.Waits.Collectives, r.Waits.Ns)
	}
	if grown := after.HeapSys - before.HeapSys; grown > 32<<20 && after.HeapSys > before.HeapSys {
		t.Errorf("%d events took %d bytes of memory", n, grown)
	}
}
