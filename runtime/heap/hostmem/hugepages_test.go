package hostmem

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestHugePages: the kernel may back user heaps with huge pages, and nothing else of the file.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/shmem_enabled"); err != nil {
		t.Skip("the kernel has no huge pages for shared memory")
	}
	p := NewPlan(3*mib, 5*mib, 2)
	s := newSegment(t, p)
	base := uint64(uintptr(s.Base()))
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	var from, to uint64
	var advised []string
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		var a, b uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
			from, to = a, b
		} else if strings.HasPrefix(line, "VmFlags:") && strings.Contains(line+" ", " hg ") && from >= base && to <= base+p.Total() {
			advised = append(advised, fmt.Sprintf("%d MiB from %d on", (to-from)/mib, (from-base)/mib))
		}
	}
	// A slice has 4 MiB of which the internal area is the end, and 6 of which the heap is the begin.
	if got, want := fmt.Sprint(advised), "[4 MiB from 4 on 4 MiB from 14 on]"; got != want {
		t.Errorf("huge pages are advised for %s, want %s", got, want)
	}
}
