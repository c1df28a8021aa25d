package preload

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"libshmem/tests/need"
)

// TestClocks: PEs of machines that are not PE 0's measure how far their clocks are from its clock.
// Here every PE but PE 0 sees another name of the machine, and has the same clock: what is measured
// must be 0 within its error, on one host and over a network. Two processes agree on the begin of
// time to within a tenth of a microsecond, besides.
func TestClocks(t *testing.T) {
	need.Namespaces(t)
	build, dir, exe := need.Build(t), t.TempDir(), program(t, "sequence")
	name := filepath.Join(dir, "boot_id")
	if err := os.WriteFile(name, []byte("another machine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := `[ "$SHMEM_LAUNCHER_PE" = 0 ] && exec "$1"; exec unshare -m sh -c 'mount --bind "$2" /proc/sys/kernel/random/boot_id && exec "$1"' sh "$1" "$2"`
	for hosts, c := range map[string]struct {
		pes     int
		options []string
	}{
		"1": {3, []string{"--hosts", "1"}},
		"2": {2, []string{"--hosts", "2", "--host-netns"}}, // two machines do not have the same address
	} {
		to := filepath.Join(dir, hosts)
		job{}.run(t, append(append([]string{filepath.Join(build, "bin", "shmemrun"), "-n", strconv.Itoa(c.pes), "--timeout", "100"}, c.options...),
			"-x", "LD_PRELOAD="+shim(t), "-x", "SHMEM_PRELOAD=trace,file="+to, "sh", "-c", elsewhere, "sh", exe, name)...)
		for pe := range c.pes {
			p := read(t, filepath.Join(to, fmt.Sprintf("%d.json", pe)), true)
			if len(p.Clock) != 2 {
				t.Fatalf("%s hosts, PE %d: clock %+v", hosts, pe, p.Clock)
			}
			for _, c := range p.Clock {
				t.Logf("%s hosts, PE %d: offset %.3f us, error %.3f us", hosts, pe, c.Offset, c.Error)
				if pe == 0 && (c.Offset != 0 || c.Error != 0) || pe > 0 && (c.Error <= 0 || math.Abs(c.Offset) > c.Error+0.2) || c.At <= 0 {
					t.Errorf("%s hosts, PE %d: clock %+v", hosts, pe, c)
				}
			}
		}
	}
}
