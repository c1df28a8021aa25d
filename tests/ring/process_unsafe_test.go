package ring

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
)

// The offsets of testdata/memory_layout.h.
const (
	atLine    = 0
	atNear    = 4096
	atReplies = 8192
	atSlots   = atReplies + queue.ReplyBytes
)

// rings makes rings in a file, for producers of other processes. The file is in
// memory where the machine has such a folder.
func rings(t *testing.T, count, log2 int) (path string, all []*queue.Ring, near []*queue.Near) {
	t.Helper()
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		dir = ""
	}
	file, err := os.CreateTemp(dir, "ring-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		file.Close()
		os.Remove(file.Name())
	})
	size := (atSlots + queue.SlotBytes(1<<log2) + 4095) &^ 4095
	if err := file.Truncate(int64(count * size)); err != nil {
		t.Fatal(err)
	}
	b, err := syscall.Mmap(int(file.Fd()), 0, count*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for i := range count {
		part := b[i*size:]
		r, err := queue.New(queue.Memory{
			Slots:   unsafe.Pointer(&part[atSlots]),
			Line:    (*queue.Progress)(unsafe.Pointer(&part[atLine])),
			Replies: unsafe.Pointer(&part[atReplies]),
		}, 1<<log2)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		near = append(near, (*queue.Near)(unsafe.Pointer(&part[atNear])))
	}
	return file.Name(), all, near
}

// reader checks the operations that testdata/process.c pushes.
type reader struct {
	next map[uint32]uint64 // of each thread
	had  int
}

func (c *reader) check(op *queue.Op) error {
	i := c.next[op.PE]
	want := queue.Op{PE: op.PE, Dest: i}
	switch (uint64(op.PE) + i) % 3 {
	case 0:
		want.Code, want.Kind, want.Width, want.Value = queue.CodeAMO, 3, 2, uint64(int64(int32(^uint32(i))))
	case 1:
		want.Code, want.Value, want.Value2 = queue.CodePBytes, ^i, i<<40
		want.Size = 16
	case 2:
		want.Code, want.Local, want.Length, want.Kind, want.Signal, want.SignalAt = queue.CodePutSignal, ^i, i, 5, ^i, i
	}
	var got, sent [2 * queue.MaxSlots]uint64 // other fields are meaningless
	if op.Pack(&got) != want.Pack(&sent) || got != sent {
		return fmt.Errorf("thread %d, operation %d: %+v, want %+v", op.PE, i, *op, want)
	}
	c.next[op.PE]++
	c.had++
	return nil
}

// drain reads a batch, completes its quiets and releases its slots. It returns the number of
// operations.
func (c *reader) drain(r *queue.Ring) (n int, err error) {
	for ; n < 64; n++ {
		var op queue.Op
		if r.Next(&op) != queue.Found {
			break
		}
		if op.Code == queue.CodeQuiet {
			r.PublishDone(r.Position())
		} else if err := c.check(&op); err != nil {
			return n, err
		}
	}
	if n > 0 {
		r.Publish()
	} else {
		runtime.Gosched()
	}
	return n, nil
}

// producers starts testdata/process.c and returns it with its output.
func producers(t *testing.T, program, path string, log2, count, ring int, what string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	args := append([]string{path, fmt.Sprint(log2), fmt.Sprint(count), fmt.Sprint(ring)}, strings.Fields(what)...)
	cmd := command(t, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The child dies with the thread that starts it: keep that one.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	})
	return cmd, bufio.NewReader(out)
}

func ended(t *testing.T, cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	said, err := io.ReadAll(out)
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || string(said) != "ended\n" {
		t.Errorf("producers: %v, %q", err, said)
	}
}

// TestProcess has threads of another process push into rings that Go reads, including the smallest
// ring, which is always full.
func TestProcess(t *testing.T) {
	program := compile(t, "process")
	for _, row := range []struct{ log2, threads, count int }{{8, 1, 500000}, {8, 16, 5000}, {12, 16, 50000}, {8, 64, 500}} {
		path, all, _ := rings(t, 2, row.log2)
		cmd, out := producers(t, program, path, row.log2, 2, 1, fmt.Sprintf("push %d %d", row.count, row.threads))
		c := reader{next: map[uint32]uint64{}}
		start := time.Now()
		for idle := start; c.had < row.threads*row.count; {
			n, err := c.drain(all[1])
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				idle = time.Now()
			} else if time.Since(idle) > time.Minute {
				t.Fatalf("nothing comes after %d operations, position %d, ahead %v", c.had, all[1].Position(), all[1].StoredAhead(64))
			}
		}
		t.Logf("%d threads, %d slots: %.1f M/s", row.threads, 1<<row.log2, float64(c.had)/1e6/time.Since(start).Seconds())
		ended(t, cmd, out) // each quiet has operations after it, so none is left
		if all[0].Position() != 0 || all[0].StoredAhead(256) {
			t.Error("the unused ring is not empty")
		}
	}
}

// TestKilled kills a process that has reserved positions and not filled all: its ring stops there,
// and reports it; another ring continues; and producers that wait for room in the first continue
// when it is stopped.
func TestKilled(t *testing.T) {
	const log2 = 8
	program := compile(t, "process")
	path, all, near := rings(t, 2, log2)
	dead, out := producers(t, program, path, log2, 2, 0, "die 4 1")
	if said, err := out.ReadString('\n'); err != nil || said != "taken\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if err := syscall.Kill(-dead.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := dead.Wait(); err == nil {
		t.Error("it ended well")
	}

	var op queue.Op
	if found := all[0].Next(&op); found != queue.Found || op.Code != queue.CodePut || op.Dest != 0 {
		t.Fatalf("before the hole: result %d, %+v", found, op)
	}
	if found := all[0].Next(&op); found != queue.Empty || all[0].Position() != 2 || !all[0].StoredAhead(64) {
		t.Fatalf("at the hole: result %d, position %d, ahead %v", found, all[0].Position(), all[0].StoredAhead(64))
	}
	all[0].Publish()

	waiting, waits := producers(t, program, path, log2, 2, 0, "wait 0 8")
	going, goes := producers(t, program, path, log2, 2, 1, "push 4000 4")
	c := reader{next: map[uint32]uint64{}}
	for until := time.Now().Add(time.Minute); c.had < 4*4000; {
		if _, err := c.drain(all[1]); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(until) {
			t.Fatalf("the other ring has stopped after %d operations", c.had)
		}
		if found := all[0].Next(&op); found != queue.Empty {
			t.Fatalf("over the hole: result %d, %+v", found, op)
		}
	}
	ended(t, going, goes)
	for until := time.Now().Add(time.Minute); atomic.LoadUint64(&near[0].Head) <= 2+1<<log2; {
		if time.Now().After(until) {
			t.Fatal("no producer fills the ring")
		}
		time.Sleep(time.Millisecond)
	}
	all[0].Stop()
	ended(t, waiting, waits)
}
