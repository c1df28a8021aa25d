package meet

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwn: this process is seen, lives, and is not stopped.
func TestOwn(t *testing.T) {
	p := OwnProcess()
	if !p.Visible() {
		t.Fatalf("%+v is out of sight", p)
	}
	if gone, stopped := p.Condition(); gone || stopped {
		t.Errorf("gone %v, stopped %v", gone, stopped)
	}
	fd, err := p.Open()
	if err != nil || fd < 0 {
		t.Fatalf("descriptor %d, %v", fd, err)
	}
	_ = unix.Close(fd)
	other := p
	other.Start++ // another process had the number
	if gone, _ := other.Condition(); !gone {
		t.Error("a process of another start is there")
	}
	if fd, err := other.Open(); fd != -1 || err != nil {
		t.Errorf("a process of another start: descriptor %d, %v", fd, err)
	}
}

// TestChild follows a child that is stopped and then killed.
func TestChild(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p := ProcessOf(child.Process.Pid)
	fd, err := p.Open()
	if err != nil || fd < 0 {
		t.Fatalf("descriptor %d, %v", fd, err)
	}
	defer unix.Close(fd)
	if err := child.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(p.ID, &status, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	if gone, stopped := p.Condition(); gone || !stopped {
		t.Errorf("stopped by a signal: gone %v, stopped %v", gone, stopped)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 10_000); n != 1 || err != nil {
		t.Errorf("its descriptor after the end: %d, %v", n, err)
	}
	if gone, _ := p.Condition(); !gone {
		t.Error("killed, and not gone")
	}
	_ = child.Wait() // its error is the signal
	if gone, _ := p.Condition(); !gone {
		t.Error("waited for, and not gone")
	}
}
