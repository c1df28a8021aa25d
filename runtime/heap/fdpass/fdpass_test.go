package fdpass

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

func soon() time.Time { return time.Now().Add(time.Minute) }

func listen(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(User(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// pair returns two ends of a connection.
func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	l := listen(t)
	a, err := Dial(l.Name(), User(), soon())
	if err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(soon()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func countFiles(t *testing.T) int {
	t.Helper()
	time.Sleep(time.Nanosecond) // the files of the Go runtime itself come with the first timer
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestMessagesAndDescriptors: they come in order, each with its own, and close
// on exec.
func TestMessagesAndDescriptors(t *testing.T) {
	a, b := pair(t)
	before := countFiles(t)
	file, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(file, []byte("inside")); err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("x"), MaxMessage)
	for _, m := range []struct {
		text  []byte
		files []int
	}{{[]byte("one"), nil}, {[]byte("two"), []int{file}}, {long, []int{file, file, file, file}}} {
		if err := a.Send(m.text, m.files, soon()); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Close(file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		text  []byte
		files int
	}{{[]byte("one"), 0}, {[]byte("two"), 1}, {long, 4}} {
		text, files, err := b.Receive(soon())
		if err != nil || !bytes.Equal(text, want.text) || len(files) != want.files {
			t.Fatalf("%d bytes, %d descriptors, %v", len(text), len(files), err)
		}
		for _, fd := range files {
			got := make([]byte, 6)
			flags, flagErr := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			if _, err := unix.Pread(fd, got, 0); err != nil || string(got) != "inside" || flagErr != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d: %q, %v, flags %#x, %v", fd, got, err, flags, flagErr)
			}
		}
		CloseAll(files)
	}
	if left := countFiles(t) - before; left != 0 {
		t.Errorf("%d descriptors are left open", left)
	}
}

func TestTooMuch(t *testing.T) {
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	for name, m := range map[string]struct {
		text  []byte
		files []int
	}{
		"letters":     {make([]byte, MaxMessage+1), []int{fd}},
		"descriptors": {[]byte("x"), []int{fd, fd, fd, fd, fd}},
	} {
		a, b := pair(t)
		before := countFiles(t)
		if err := a.Send(m.text, m.files, soon()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Receive(soon()); !errors.Is(err, shmerr.ErrVersion) {
			t.Errorf("too many %s: %v", name, err)
		}
		if left := countFiles(t) - before; left != 0 {
			t.Errorf("too many %s: %d descriptors are left open", name, left)
		}
	}
}

// TestEnd: a process that reads or writes learns that the other end is gone.
func TestEnd(t *testing.T) {
	a, b := pair(t)
	if err := a.Send([]byte("last"), nil, soon()); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _, err := b.Receive(soon()); string(text) != "last" || err != nil {
		t.Errorf("what was sent before: %q, %v", text, err)
	}
	if _, _, err := b.Receive(soon()); !errors.Is(err, shmerr.ErrPeerLost) {
		t.Errorf("receive: %v", err)
	}
	if err := b.Send([]byte("x"), nil, soon()); !errors.Is(err, shmerr.ErrPeerLost) {
		t.Errorf("send: %v", err)
	}
}

// TestDeadlines: nothing waits for ever where it has a limit, nor gives up before.
func TestDeadlines(t *testing.T) {
	const short = 50 * time.Millisecond
	a, b := pair(t)
	l := listen(t)
	for name, f := range map[string]func(time.Time) error{
		"receive": func(d time.Time) error { _, _, err := a.Receive(d); return err },
		"accept":  func(d time.Time) error { _, err := l.Accept(d); return err },
		"send": func(d time.Time) error {
			for { // until the peer's queue is full
				if err := a.Send(make([]byte, 1024), nil, d); err != nil {
					return err
				}
			}
		},
		"dial": func(d time.Time) error {
			full, err := Listen(User(), 1)
			if err != nil {
				return err
			}
			defer full.Close()
			for {
				c, err := Dial(full.Name(), User(), d)
				if err != nil {
					return err
				}
				defer c.Close()
			}
		},
	} {
		begin := time.Now()
		err := f(begin.Add(short))
		if took := time.Since(begin); !errors.Is(err, shmerr.ErrTimeout) || took < short || took > time.Minute {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
	// A message that is there already is taken, however late.
	if err := b.Send([]byte("x"), nil, soon()); err != nil {
		t.Fatal(err)
	}
	if text, _, err := a.Receive(time.Now().Add(-time.Second)); string(text) != "x" || err != nil {
		t.Errorf("after the deadline: %q, %v", text, err)
	}
}

func TestOtherUsers(t *testing.T) {
	l, err := Listen(User()+1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := countFiles(t)
	c, err := Dial(l.Name(), User(), soon())
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Accept(soon())
	var away Rejected
	if !errors.As(err, &away) || !strings.Contains(err.Error(), "runs as user") {
		t.Errorf("accept: %v", err)
	}
	if _, _, err := c.Receive(soon()); !errors.Is(err, shmerr.ErrPeerLost) {
		t.Errorf("a process that was turned away: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Dial(l.Name(), User()+1, soon()); !errors.As(err, &away) || !strings.Contains(err.Error(), "runs as user") {
		t.Errorf("dial: %v", err)
	}
	if _, err := l.Accept(soon()); !errors.As(err, &away) {
		t.Errorf("accept: %v", err)
	}
	if left := countFiles(t) - before; left != 0 {
		t.Errorf("%d descriptors are left open", left)
	}
	if _, err := Dial("shmem-none", User(), soon()); !errors.Is(err, shmerr.ErrPeerLost) {
		t.Errorf("no listener: %v", err)
	}
}
