package memmonitor

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

const page = 4096

func open(t *testing.T) *Watch {
	t.Helper()
	w, err := Open()
	if err != nil {
		t.Skipf("needs userfaultfd: %v", err)
	}
	return w
}

func mapped(t *testing.T, n int, flags, prot int) ([]byte, Span) {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, prot, flags|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	at := uint64(uintptr(unsafe.Pointer(&b[0])))
	return b, Span{at, at + uint64(n)}
}

func changes(t *testing.T, w *Watch) (all []Span) {
	t.Helper()
	if !w.Changes(func(s Span) { all = append(all, s) }) {
		t.Error("something is changing")
	}
	return all
}

func TestEachListenerIsTold(t *testing.T) {
	a, b := open(t), open(t)
	m, s := mapped(t, 8*page, unix.MAP_PRIVATE, unix.PROT_READ|unix.PROT_WRITE)
	if err := a.Add(Span{s.Begin + page, s.Begin + 2*page}); err != nil {
		t.Fatal(err)
	}
	if got := changes(t, a); got != nil {
		t.Errorf("before anything has changed: %v", got)
	}
	late := open(t)
	if err := unix.Madvise(m[3*page:5*page], unix.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	want := []Span{{s.Begin + 3*page, s.Begin + 5*page}}
	for _, w := range []*Watch{a, b, late} {
		if got := changes(t, w); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		if got := changes(t, w); got != nil {
			t.Errorf("reported again: %x", got)
		}
	}
	// A listener that does not look gets the change of everything.
	for i := range 300 {
		if err := unix.Madvise(m[i%8*page:(i%8+1)*page], unix.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			changes(t, b)
		}
	}
	if got := changes(t, a); len(got) == 0 || got[0] != (Span{0, 1<<64 - 1}) {
		t.Errorf("after 300 changes: %x", got)
	}
	for _, w := range []*Watch{a, b, late} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestListeners(t *testing.T) {
	var all []*Watch
	for range 8 {
		all = append(all, open(t))
	}
	if _, err := Open(); !errors.Is(err, shmerr.ErrUnsupported) || err.Error() != "watch memory: listen: too many open files" {
		t.Errorf("a ninth: %v", err)
	}
	for _, w := range all {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := open(t).Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyPrivateAnonymousMemory(t *testing.T) {
	w := open(t)
	defer w.Close()
	rw := unix.PROT_READ | unix.PROT_WRITE
	_, private := mapped(t, 4*page, unix.MAP_PRIVATE, rw)
	_, shared := mapped(t, 4*page, unix.MAP_SHARED, rw)
	gap, holed := mapped(t, 4*page, unix.MAP_PRIVATE, rw)
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&gap[page])), page, 0); errno != 0 {
		t.Fatal(errno)
	}
	text := uint64(uintptr(unsafe.Pointer(unsafe.StringData(shmerr.ErrUnsupported.Error()))))
	for _, c := range []struct {
		what string
		span Span
		want bool
	}{
		{"private", private, true},
		{"shared", shared, false},
		{"with a gap", holed, false},
		{"before the gap", Span{holed.Begin, holed.Begin + page}, true},
		{"of the executable", Span{text &^ (page - 1), text&^(page-1) + page}, false},
		{"nothing", Span{page, 2 * page}, false},
	} {
		for _, text := range []bool{false, true} {
			w.maps.ByText = text
			if err := w.Add(c.span); (err == nil) != c.want {
				t.Errorf("%s, read as text %v: %v", c.what, text, err)
			}
		}
	}
}

func TestJoin(t *testing.T) {
	var spans []Span
	for _, s := range []Span{{10, 20}, {40, 50}, {20, 25}, {60, 70}, {35, 40}, {0, 5}, {24, 36}, {80, 90}, {1, 2}} {
		spans = join(spans, s)
	}
	if want := []Span{{0, 5}, {10, 50}, {60, 70}, {80, 90}}; !slices.Equal(spans, want) {
		t.Errorf("got %v, want %v", spans, want)
	}
}

// After the last Close no thread waits for a message to be read.
func TestNothingIsLeft(t *testing.T) {
	w := open(t)
	m, s := mapped(t, 4*page, unix.MAP_PRIVATE, unix.PROT_READ|unix.PROT_WRITE)
	if err := w.Add(s); err != nil {
		t.Fatal(err)
	}
	fd := int(w.maps.Fd())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(m, unix.MADV_DONTNEED); err != nil {
		t.Error(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
		t.Error("the list of mappings is still open")
	}
	if len(watched.spans) != 0 {
		t.Errorf("watched: %v", watched.spans)
	}
}
