package wire

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// host is a network namespace whose only interface, eth0, is a TAP device: what the host sends is
// read from tap, and what is written to tap arrives at the host.
type host struct {
	space *os.File
	tap   *os.File
}

// path leads to the namespace as long as this process lives.
func (h *host) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), h.space.Fd()) }

// newHost makes host n with address 198.18.0.(n+1), of the range that is set aside for benchmarks.
// The namespace has no name, so that nothing is left when this process is killed.
func newHost(t *testing.T, n int) *host {
	t.Helper()
	h := &host{}
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends inside the namespace, with the goroutine.
		runtime.LockOSThread()
		done <- h.open(n)
	}()
	err := <-done
	t.Cleanup(h.close)
	if err != nil {
		t.Fatalf("make host %d: %v", n, err)
	}
	return h
}

// open makes the namespace the calling thread's, and the device in it.
func (h *host) open(n int) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	var err error
	if h.space, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request := struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: unix.IFF_TAP | unix.IFF_NO_PI}
	copy(request.name[:], "eth0")
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
		_ = unix.Close(fd)
		return fmt.Errorf("make eth0: %w", errno)
	}
	h.tap = os.NewFile(uintptr(fd), "tap")
	out, err := exec.Command("sh", "-ec", fmt.Sprintf("ip link set lo up; ip addr add 198.18.0.%d/24 dev eth0; ip link set eth0 up", n+1)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("bring up eth0: %w\n%s", err, out)
	}
	return nil
}

func (h *host) close() {
	for _, f := range []*os.File{h.tap, h.space} {
		if f != nil {
			_ = f.Close()
		}
	}
}
