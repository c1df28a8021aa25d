package pinned

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestInterrupted moves bytes while signals come all the time, like those by which Go takes a
// thread from a goroutine: a signal that ends a wait for the kernel does not complete the
// operation.
func TestInterrupted(t *testing.T) {
	nic, err := Open()
	if err != nil {
		t.Skipf("needs io_uring: %v", err)
	}
	const most = 1 << 16
	memory, err := unix.Mmap(-1, 0, most, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(nic.Close(), unix.Munmap(memory)); err != nil {
			t.Error(err)
		}
	})
	at := unsafe.Pointer(&memory[0])
	r, err := nic.Register(at, most)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func(thread int) {
		defer close(stopped)
		close(begun)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG)
			}
		}
	}(unix.Gettid())
	defer func() { close(stop); <-stopped }()
	<-begun
	got := make([]byte, most)
	for i := range 3000 {
		n := 1 + i*7919%most
		memory[0], memory[n-1] = byte(i), byte(i>>8)
		if err := nic.Load(r.Desc, at, got[:n]); err != nil || !bytes.Equal(got[:n], memory[:n]) {
			t.Fatalf("load %d of %d bytes: %v, or what came is not what is there", i, n, err)
		}
	}
}
