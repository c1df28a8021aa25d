package hostnet

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/tests/need"
)

// within runs f on a thread in a host's namespace.
func within(n *Network, host int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in the namespace
		if err := n.Enter(host); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// listen opens a TCP socket on the calling thread, which package net does not
// promise to do.
func listen(ip net.IP) (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(ip)}); err != nil {
		return
	}
	if err = unix.Listen(fd, 8); err != nil {
		return
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

func TestHostsReachEachOther(t *testing.T) {
	need.Namespaces(t)
	for _, c := range []struct{ hosts, links, link int }{{2, 0, 0}, {3, 1, 0}, {2, 2, 1}, {3, 3, 2}} {
		hosts, links := c.hosts, Links{N: c.links, Rate: 1e9}
		n, err := New(hosts, links)
		if err != nil {
			t.Fatal(err)
		}
		names := n.names
		to := hosts - 1
		var fd, port int
		if err := within(n, to, func() (err error) { fd, port, err = listen(address(c.link, to)); return }); err != nil {
			t.Fatal(err)
		}
		for from := range hosts {
			err := within(n, from, func() error {
				s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
				if err != nil {
					return err
				}
				defer unix.Close(s)
				if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 60}); err != nil {
					return err
				}
				return unix.Connect(s, &unix.SockaddrInet4{Addr: [4]byte(address(c.link, to)), Port: port})
			})
			if err != nil {
				t.Errorf("%d hosts, link %d of %d: from %d to %d: %v", hosts, c.link, c.links, from, to, err)
			}
		}
		unix.Close(fd)
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left over: %v", name, err)
			}
		}
	}
}

func TestOneHost(t *testing.T) {
	need.Namespaces(t)
	n, err := New(1, Links{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := within(n, 0, func() error {
		fd, _, err := listen(net.IPv4(127, 0, 0, 1).To4())
		unix.Close(fd)
		return err
	}); err != nil {
		t.Errorf("loopback: %v", err)
	}
}

func TestSweep(t *testing.T) {
	need.Namespaces(t)
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	leave := func(name string) string {
		path := filepath.Join(dir, name)
		t.Cleanup(func() { _ = remove(name) })
		var err error
		for range 20 { // another test's job may sweep it while it is half made
			if err = os.WriteFile(path, nil, 0o444); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				runtime.LockOSThread()
				done <- create(path)
			}()
			if err = <-done; err == nil {
				return path
			}
		}
		t.Fatal(err)
		return ""
	}
	dead := leave(prefix + strconv.Itoa(cmd.Process.Pid) + "-0")
	living := leave(prefix + strconv.Itoa(os.Getppid()) + "-test")
	other := leave("other-" + strconv.Itoa(cmd.Process.Pid) + "-0")
	n, err := New(1, Links{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := os.Lstat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a dead process left is still there: %v", err)
	}
	for _, path := range []string{living, other} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("what is not ours to sweep: %v", err)
		}
	}
}

// A failure halfway leaves nothing.
func TestFailureLeavesNothing(t *testing.T) {
	need.Namespaces(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// In the way of the bridge's namespace, which is made last.
	inTheWay := prefix + strconv.Itoa(os.Getpid()) + "-bridge"
	if err := os.WriteFile(filepath.Join(dir, inTheWay), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = remove(inTheWay) }()
	if _, err := build(3, Links{N: 1}); err == nil {
		t.Fatal("it succeeded")
	}
	for h := range 3 {
		name := prefix + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(h)
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left over: %v", name, err)
		}
	}
}

func TestNeedsRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		// Of this thread only, and for good: it ends with the goroutine.
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
				done <- errno
				return
			}
			_, err := New(2, Links{})
			done <- err
		}()
		checkRefusal(t, <-done)
		return
	}
	_, err := New(2, Links{})
	checkRefusal(t, err)
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "need root") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one line that names the user", err)
	}
}

func TestAddresses(t *testing.T) {
	seen := map[string]bool{}
	_, rng, err := net.ParseCIDR("198.18.0.0/15")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []int{0, 1, 253, 254, 255, 65535, Links{}.maxHosts() - 1} {
		a := address(0, h)
		if !rng.Contains(a) || seen[a.String()] {
			t.Errorf("host %d: %v", h, a)
		}
		seen[a.String()] = true
	}
	if a := address(0, 0).String(); a != "198.18.0.1" {
		t.Errorf("host 0: %s", a)
	}
	clear(seen)
	for link := range MaxLinks {
		for _, h := range []int{0, 254, Links{N: MaxLinks}.maxHosts() - 1} {
			a := address(link, h)
			if !rng.Contains(a) || seen[a.String()] {
				t.Errorf("link %d, host %d: %v", link, h, a)
			}
			seen[a.String()] = true
		}
	}
}
