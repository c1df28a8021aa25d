package launch

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
)

// gate is a writer that lets bytes through when it is open.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.got.Write(b)
}

// TestOutbox: a slow connection holds nobody up, and PEs share a frame if it is the same memory,
// but not if it only has the same length.
func TestOutbox(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	o := &outbox{to: g}
	o.send(relay.Frame{Kind: relay.Ping, PE: relay.All, Payload: relay.Number(1)})
	for taken := false; !taken; time.Sleep(time.Millisecond) { // it waits in the writer
		o.mu.Lock()
		taken = len(o.frames) == 0
		o.mu.Unlock()
	}
	one, two := []byte("one"), []byte("two")
	for pe, frame := range [][]byte{one, one, two, one} {
		o.reply(libshmem.PE(pe), frame)
	}
	if o.flush(10 * time.Millisecond) {
		t.Error("it is written, although nobody reads")
	}
	close(g.open)
	if !o.flush(time.Minute) {
		t.Fatal("it is not written within a minute")
	}
	type answer struct {
		pes   []libshmem.PE
		frame string
	}
	var got []answer
	for r := bytes.NewReader(g.got.Bytes()); ; {
		f, err := relay.Read(r)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == relay.Reply {
			pes, frame, err := relay.ParseReply(f.Payload)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, answer{pes, string(frame)})
		}
	}
	want := []answer{{[]libshmem.PE{0, 1}, "one"}, {[]libshmem.PE{2}, "two"}, {[]libshmem.PE{3}, "one"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("replies %v, want %v", got, want)
	}
	o.close()
	before := g.got.Len()
	if o.send(relay.Frame{Kind: relay.Ping, PE: relay.All}); !o.flush(time.Minute) || g.got.Len() != before {
		t.Error("it writes although it is closed")
	}
}

// broken is a pipe whose reader goes after some bytes.
type broken struct{ room int }

func (b *broken) Write(p []byte) (int, error) {
	if b.room -= len(p); b.room < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(p), nil
}

func (b *broken) Close() error { return nil }

// TestPump: bytes count when they are written, functions are called in their turn, and a reader
// that is gone is reported once.
func TestPump(t *testing.T) {
	wrote, gone, order := 0, 0, []int{}
	p := &pump{to: &broken{room: 10}, wrote: func(n int) { wrote += n }, gone: func() { gone++ }}
	done := make(chan struct{})
	for i, b := range []string{"12345", "67890", "x", "y"} {
		p.send([]byte(b))
		p.then(func() { order = append(order, i) })
	}
	p.then(func() { close(done) })
	<-done
	if wrote != 10 || gone != 1 || !reflect.DeepEqual(order, []int{0, 1, 2, 3}) {
		t.Errorf("%d bytes, the reader gone %d times, order %v", wrote, gone, order)
	}
}

// TestCredit: no more is taken than was given, and a wait ends with the credit.
func TestCredit(t *testing.T) {
	c := newCredit()
	if n := c.reserve(relay.Window + 5); n != relay.Window {
		t.Errorf("%d of the first %d bytes", n, relay.Window)
	}
	got := make(chan int)
	go func() { got <- c.reserve(9) }()
	select {
	case n := <-got:
		t.Errorf("%d bytes without credit", n)
	case <-time.After(10 * time.Millisecond):
		c.release(4)
		if n := <-got; n != 4 {
			t.Errorf("%d bytes of 4", n)
		}
	}
	go func() { got <- c.reserve(9) }()
	c.end()
	if n := <-got; n != 0 {
		t.Errorf("%d bytes at the end", n)
	}
}

// TestStamp: silence counts from the last byte, and not over a pause in which nobody asked.
func TestStamp(t *testing.T) {
	var s stamp
	const limit = 60 * time.Millisecond
	silentAfter := func() time.Duration {
		begin := time.Now()
		for !s.silent(limit) {
			if time.Since(begin) > time.Minute {
				t.Fatal("never silent")
			}
			time.Sleep(time.Millisecond)
		}
		return time.Since(begin)
	}
	if d := silentAfter(); d < limit {
		t.Errorf("silent after %v at the begin", d)
	}
	r := s.reader(bytes.NewReader([]byte("x")))
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if d := silentAfter(); d < limit {
		t.Errorf("silent %v after a byte", d)
	}
	time.Sleep(limit) // as a process that was stopped
	if s.silent(limit) {
		t.Error("silent at once after a pause of its own")
	}
}
