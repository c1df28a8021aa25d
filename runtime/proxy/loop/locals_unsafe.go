package loop

import (
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/procmaps"
)

// pointerTo converts an address from a producer into a pointer. The address has been checked, and
// is not memory of the Go heap.
func pointerTo(address uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Locals knows which addresses of this process are memory, so that an invalid address fails the
// operation and does not crash the process. It reads the kernel's list of mappings and stores it.
// Memory that is unmapped while an operation uses it crashes the process, as a copy by the program
// would.
type Locals struct {
	mu      sync.Mutex
	areas   []area // ascending; adjacent areas are one entry
	version atomic.Uint64
	source  func() ([]area, error)
}

// area is a range of readable memory of this process.
type area struct {
	begin, end uint64
	writable   bool
}

// NewLocals returns a Locals that has not read the mappings yet.
func NewLocals() *Locals { return &Locals{source: readMappings} }

// Check returns an error unless all n bytes at an address can be read, or written if write is set.
// Any thread may call it.
func (l *Locals) Check(at, n uint64, write bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.contains(at, n, write) {
		return nil
	}
	areas, err := l.source()
	if err != nil {
		return fmt.Errorf("look for the local address %#x: %w", at, err)
	}
	l.areas = areas
	l.version.Add(1)
	if l.contains(at, n, write) {
		return nil
	}
	verb := "read"
	if write {
		verb = "written"
	}
	return fmt.Errorf("%d bytes at the local address %#x cannot be %s (pass memory of this process)", n, at, verb)
}

// areaAround returns the memory area that contains an address, from the mappings of the process
// that were read last; ok is false if none does.
func (l *Locals) areaAround(at uint64) (begin, end uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.areas), func(i int) bool { return l.areas[i].end > at })
	if i == len(l.areas) || l.areas[i].begin > at {
		return 0, 0, false
	}
	return l.areas[i].begin, l.areas[i].end, true
}

// contains reports whether all n bytes at an address were memory of this process, and writable if
// write is set, when the mappings were last read.
func (l *Locals) contains(at, n uint64, write bool) bool {
	end := at + n
	if end < at {
		return false
	}
	i := sort.Search(len(l.areas), func(i int) bool { return l.areas[i].end > at })
	for ; i < len(l.areas) && l.areas[i].begin <= at; i++ {
		a := &l.areas[i]
		if write && !a.writable {
			return false
		}
		if a.end >= end {
			return true
		}
		at = a.end
	}
	return false
}

// readMappings reads the list of the readable memory areas of this process.
func readMappings() ([]area, error) {
	maps, err := procmaps.Open()
	if err != nil {
		return nil, err
	}
	defer maps.Close() // the file was only read, so an error of Close loses nothing
	all, err := maps.Over(0, math.MaxUint64)
	var areas []area
	for _, m := range all {
		if !m.Readable {
			continue
		}
		if last := len(areas) - 1; last >= 0 && areas[last].end == m.Begin && areas[last].writable == m.Writable {
			areas[last].end = m.End
			continue
		}
		areas = append(areas, area{m.Begin, m.End, m.Writable})
	}
	return areas, err
}
