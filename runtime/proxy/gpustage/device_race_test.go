package gpustage

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
	"libshmem/runtime/proxy/gpustage/stream"
)

// raceContext is one of two contexts of a GPU whose memory is main memory. All of its work goes
// into one stream, which does a piece of it when the test says so.
type raceContext struct {
	*fakeDevice
	mu   *sync.Mutex // shared by both
	work []func()
	held sync.Mutex // while it is taken, no call returns
	fail string
}

func (c *raceContext) put(name string, f func()) error {
	c.held.Lock()
	defer c.held.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == c.fail {
		return fmt.Errorf("%s fails", name)
	}
	c.work = append(c.work, f)
	return nil
}

// step does a piece of the work, and reports whether there was one.
func (c *raceContext) step() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.work) == 0 {
		return false
	}
	c.work[0]()
	c.work = c.work[1:]
	return true
}

func (c *raceContext) SyncStream(gpu.Stream) error {
	for c.step() {
	}
	return nil
}

func (c *raceContext) NewStream() (gpu.Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fakeDevice.NewStream()
}

func (c *raceContext) CopyAsync(_ gpu.Stream, to, from gpu.Address, n uint64) error {
	return c.put("CopyAsync", func() { copy(c.At(to, n), c.At(from, n)) })
}

func (c *raceContext) CopyInAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	return c.CopyAsync(s, to, from, n)
}

func (c *raceContext) Copies(_ gpu.Stream, copies []gpu.Copy, _ gpu.Direction) error {
	copies = append([]gpu.Copy(nil), copies...)
	return c.put("Copies", func() {
		for _, x := range copies {
			copy(c.At(x.To, x.N), c.At(x.From, x.N))
		}
	})
}

func (c *raceContext) Stores(_ gpu.Stream, stores []gpu.Store) error {
	stores = append([]gpu.Store(nil), stores...)
	return c.put("Stores", func() {
		for _, w := range stores {
			*(*uint64)(unsafe.Pointer(&c.At(w.At, 8)[0])) = w.Value
		}
	})
}

func (c *raceContext) Put(_ gpu.Stream, o gpu.Atomic) error {
	return c.put("Put", func() {
		word := func(a gpu.Address) *uint64 { return (*uint64)(unsafe.Pointer(&c.At(a, 8)[0])) }
		if o.Claim != 0 {
			claim := word(o.Claim)
			if *claim != o.Free {
				if *claim < o.Free {
					c.T.Errorf("a claim is %d where it is free at %d", *claim, o.Free)
				}
				return
			}
			*claim += 2
		}
		*word(o.Fetched) = *word(o.At)
		*word(o.At) += o.Operand
	})
}

func (c *raceContext) Change(_ gpu.Stream, o gpu.Atomic) error {
	c.MayChange(o)
	return c.put("Change", func() { *(*uint64)(unsafe.Pointer(&c.At(o.At, 8)[0])) += o.Operand })
}

// raceContexts returns the program's context and the one apart.
func raceContexts(t *testing.T) (quick, apart *raceContext) {
	f, mu := newFakeDevice(t), new(sync.Mutex)
	return &raceContext{fakeDevice: f, mu: mu}, &raceContext{fakeDevice: f, mu: mu}
}

// raced returns a Memory of both, with words in GPU memory.
func raced(t *testing.T, words uint64) (quick, apart *raceContext, m *Memory, at gpu.Address) {
	quick, apart = raceContexts(t)
	m, err := NewMemory(apart, apart, &Quick{quick, quick})
	if err != nil {
		t.Fatal(err)
	}
	if at, err = apart.Alloc(8 * words); err != nil {
		t.Fatal(err)
	}
	return quick, apart, m, at
}

// TestRace: whichever context stands still, goes on late or blocks its caller, each operation is
// done once, in its order, and a mark has passed when all operations before it are done.
func TestRace(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			const words, rounds = 3, 300
			rng := rand.New(rand.NewPCG(seed, 1))
			quick, apart, m, at := raced(t, words)
			quick.Can.StreamChange = seed%2 == 1
			fetched, err := m.Pin(8 * rounds)
			if err != nil {
				t.Fatal(err)
			}
			olds := unsafe.Slice((*uint64)(fetched), rounds)
			for i := range olds {
				olds[i] = ^uint64(0)
			}
			var sums [words]uint64
			var want [rounds]uint64
			stands, held := false, false
			passed := 0
			look := func() {
				// The engine's thread reads the GPU's words without a lock; here this thread is
				// both, except for the goroutine, which only makes calls.
				n, err := m.Marked(stream.Word)
				if err != nil {
					t.Fatal(err)
				}
				if int(n) < passed {
					t.Fatalf("mark %d has passed, and then %d", passed, n)
				}
				for i := passed; i < int(n); i++ { // each mark is behind one operation
					if olds[i] != want[i] {
						t.Fatalf("mark %d has passed, and its operation fetched %d, want %d", i+1, olds[i], want[i])
					}
				}
				passed = int(n)
			}
			for i := range rounds {
				w := rng.IntN(words)
				want[i] = sums[w]
				sums[w] += uint64(i + 1)
				a := at + gpu.Address(8*w)
				op, old := fabric.OpFetchAdd, unsafe.Pointer(&olds[i])
				if rng.IntN(3) == 0 { // an operation that a stream may do by itself
					op, old, want[i] = fabric.OpAdd, nil, olds[i]
				}
				if err := m.Atomic(stream.Word, *(*unsafe.Pointer)(unsafe.Pointer(&a)), op, 8, uint64(i+1), 0, old); err != nil {
					t.Fatal(err)
				}
				if _, err := m.Mark(stream.Word); err != nil {
					t.Fatal(err)
				}
				switch rng.IntN(30) {
				case 0:
					stands = !stands
				case 1:
					if held = !held; held {
						quick.held.Lock()
					} else {
						quick.held.Unlock()
					}
				case 2:
					time.Sleep(stallTimeout + stallTimeout/2)
				}
				for range rng.IntN(4) {
					if rng.IntN(2) == 0 {
						apart.step()
					} else if !stands {
						quick.step()
					}
					look()
				}
			}
			// While quick stands still, the other context does the rest.
			if !held {
				quick.held.Lock()
			}
			for begin := time.Now(); passed < rounds; look() {
				apart.step()
				if time.Since(begin) > time.Minute {
					t.Fatalf("%d of %d marks have passed", passed, rounds)
				}
			}
			quick.held.Unlock()
			if err := m.Unpin(fetched); err != nil {
				t.Error(err)
			}
			closeDevice(t, m)
			for w, sum := range sums {
				if got := quick.words(at, words)[w]; got != sum {
					t.Errorf("word %d is %d, want %d", w, got, sum)
				}
			}
			if err := apart.Free(at); err != nil {
				t.Error(err)
			}
			quick.Empty()
		})
	}
}

// TestRaceIsQuick: if the program's context goes on, the other one gets nothing.
func TestRaceIsQuick(t *testing.T) {
	quick, apart, m, at := raced(t, 1)
	m.race.stallTimeout = time.Hour
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	for i := range 5 * raceClaims {
		if err := m.Atomic(stream.Word, p, fabric.OpAdd, 8, 1, 0, nil); err != nil {
			t.Fatal(err)
		}
		n, err := m.Mark(stream.Word)
		if err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); ; quick.step() {
			if done, err := m.Marked(stream.Word); err != nil || done >= n {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("operation %d is not done", i)
			}
		}
	}
	if got := quick.words(at, 1)[0]; got != 5*raceClaims {
		t.Errorf("the word is %d", got)
	}
	closeDevice(t, m)
	if err := apart.Free(at); err != nil {
		t.Error(err)
	}
	quick.Empty()
}

// TestRaceFails: an error of the goroutine is returned to the caller that looks for marks.
func TestRaceFails(t *testing.T) {
	quick, apart, m, at := raced(t, 1)
	quick.fail = "Put"
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	err := m.Atomic(stream.Word, p, fabric.OpAdd, 8, 1, 0, nil)
	for begin := time.Now(); err == nil && time.Since(begin) < time.Minute; {
		_, err = m.Marked(stream.Word)
	}
	if err == nil || err.Error() != "Put fails" {
		t.Errorf("error %v", err)
	}
	closeDevice(t, m)
	if err := apart.Free(at); err != nil {
		t.Error(err)
	}
	quick.Empty()
}
