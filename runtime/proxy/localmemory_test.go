package proxy

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
)

// localNIC registers all memory but one mapping.
type localNIC struct {
	refused []byte
	open    int
}

var errRefused = errors.New("the memory may not be written")

func (n *localNIC) Register(base unsafe.Pointer, size uint64) (fabric.Region, error) {
	if base == unsafe.Pointer(&n.refused[0]) {
		return fabric.Region{}, errRefused
	}
	n.open++
	return fabric.Region{Base: base, Len: size, Desc: 7}, nil
}

func (n *localNIC) Unregister(fabric.Region) error {
	n.open--
	return nil
}

func mapping(t *testing.T) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestLocalMemory registers memory where it is, and replaces memory that is refused by a copy: its
// bytes are there for a put, and are copied back after a get.
func TestLocalMemory(t *testing.T) {
	mine, refused := mapping(t), mapping(t)
	n := &localNIC{refused: refused}
	m := newLocalMemory(n, nil, mrcache.Limits{})
	var u registration
	at, err := m.Get(&u, unsafe.Pointer(&mine[0]), 64, true)
	if err != nil || at != unsafe.Pointer(&mine[0]) || u.Region.Desc != 7 {
		t.Fatalf("registered %p for %p: %v", at, &mine[0], err)
	}
	if err := m.Put(&u, true); err != nil || n.open != 0 {
		t.Errorf("%d registrations are left: %v", n.open, err)
	}

	copy(refused, "what a put sends")
	at, err = m.Get(&u, unsafe.Pointer(&refused[0]), 16, false)
	if err != nil || at == unsafe.Pointer(&refused[0]) || !bytes.Equal(unsafe.Slice((*byte)(at), 16), refused[:16]) {
		t.Fatalf("the copy of a put is not there: %v", err)
	}
	copy(unsafe.Slice((*byte)(at), 16), "xxxxxxxxxxxxxxxx")
	if err := m.Put(&u, true); err != nil || string(refused[:16]) != "what a put sends" {
		t.Errorf("a put changed its source to %q: %v", refused[:16], err)
	}

	for _, came := range []bool{false, true} {
		at, err = m.Get(&u, unsafe.Pointer(&refused[0]), 16, true)
		if err != nil {
			t.Fatal(err)
		}
		copy(unsafe.Slice((*byte)(at), 16), "what a get read!")
		if err := m.Put(&u, came); err != nil || (string(refused[:16]) == "what a get read!") != came {
			t.Errorf("came %v: the destination is %q: %v", came, refused[:16], err)
		}
	}
	if err := m.Close(); err != nil || n.open != 0 {
		t.Errorf("%d registrations are left: %v", n.open, err)
	}
}

// TestBadAddress gives an error for memory that is refused and cannot be read, and leaves nothing.
func TestBadAddress(t *testing.T) {
	refused := mapping(t)
	n := &localNIC{refused: refused}
	m := newLocalMemory(n, nil, mrcache.Limits{})
	if err := unix.Mprotect(refused, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	var u registration
	if _, err := m.Get(&u, unsafe.Pointer(&refused[0]), 64, false); !errors.Is(err, errRefused) || !errors.Is(err, unix.EFAULT) {
		t.Errorf("want that the memory is refused and cannot be read, got %v", err)
	}
	if u != (registration{}) || n.open != 0 {
		t.Errorf("the failed registration left %+v and %d registrations", u, n.open)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
