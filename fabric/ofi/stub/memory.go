package stub

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Memory returns n bytes that stand for a GPU's memory, and a descriptor that stands for its
// dma-buf. The caller closes the descriptor.
func Memory(t testing.TB, n int) ([]byte, int) {
	t.Helper()
	fd, err := unix.MemfdCreate("gpu", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, int64(n))
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b, fd
}
