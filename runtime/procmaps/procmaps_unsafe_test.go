package procmaps

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const page = 4096

func mapped(t *testing.T, flags, rights int) uint64 {
	t.Helper()
	m, err := unix.Mmap(-1, 0, 4*page, rights, flags|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	return uint64(uintptr(unsafe.Pointer(&m[0])))
}

// Both ways to read the list agree, and are right.
func TestOver(t *testing.T) {
	private := mapped(t, unix.MAP_PRIVATE, unix.PROT_READ)
	apart := mapped(t, unix.MAP_SHARED, unix.PROT_READ|unix.PROT_WRITE)
	for _, byText := range []bool{false, true} {
		l, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.ByText = byText
		for _, want := range []Mapping{
			{Begin: private, End: private + 4*page, Readable: true, Anonymous: true},
			{Begin: apart, End: apart + 4*page, Readable: true, Writable: true},
		} {
			got, err := l.Over(want.Begin+page, want.End-page)
			if len(got) == 1 { // the kernel may join a mapping of the same kind beside it
				got[0].Begin, got[0].End = max(got[0].Begin, want.Begin), min(got[0].End, want.End)
			}
			if err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("by text %v: got %+v, %v, want %+v", byText, got, err, want)
			}
		}
	}
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin, end := private-64*page, private+64*page
	asked, err := l.Over(begin, end)
	if l.ByText {
		t.Skip("needs PROCMAP_QUERY, of Linux 6.11")
	}
	read, err2 := l.lines(begin, end)
	if err != nil || err2 != nil || !slices.Equal(asked, read) || len(read) == 0 {
		t.Errorf("asked: %v, %v\nread: %v, %v", asked, err, read, err2)
	}
}
