package sequence

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// at makes both ends of a flow that has had n writes.
func at(s Space, n uint32) (*Out, *In) {
	in := NewIn(s)
	in.edge = n
	return &Out{Space: s, Posted: n, In: n, After: n}, in
}

// TestWrap fills the window at every number, also where the counts wrap, and lets
// the writes come last first: nothing is reached before the first one is in.
func TestWrap(t *testing.T) {
	for _, s := range []Space{{Bits: 2, Window: 2}, {Bits: 3, Window: 4}, {Bits: 3, Window: 3}, {Bits: 8, Window: 128}, Default, {Bits: 16, Window: 1}, {Bits: 16, Window: 4}, {Bits: 16, Window: 1 << 15}} {
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		for _, start := range []uint32{0, 1, 1<<s.Bits - 1, 1<<31 - 1, 1<<32 - 1 - s.Window/2, 1<<32 - 1} {
			out, in := at(s, start)
			for range 3 {
				var numbers []uint32
				for out.HasRoom() {
					numbers = append(numbers, out.Write())
				}
				if len(numbers) != int(s.Window) {
					t.Fatalf("%v from %d: room for %d writes", s, start, len(numbers))
				}
				out.Follow()
				for i := len(numbers) - 1; i >= 0; i-- {
					if ok, err := in.Reached(out.Need()); ok || err != nil {
						t.Fatalf("%v from %d: reached %v, error %v, with %d writes missing", s, start, ok, err, i+1)
					}
					if err := in.Arrive(numbers[i]); err != nil {
						t.Fatalf("%v from %d: %v", s, start, err)
					}
				}
				if ok, err := in.Reached(out.Need()); !ok || err != nil {
					t.Fatalf("%v from %d: reached %v, error %v, with all in", s, start, ok, err)
				}
				if err := out.HandleAck(in.Ack()); err != nil || out.Unacknowledged() != 0 {
					t.Fatalf("%v from %d: %d not acknowledged, error %v", s, start, out.Unacknowledged(), err)
				}
			}
		}
	}
}

// TestLongFlow is a flow without fences, whose messages must not seem to follow writes that come
// 2^31 writes later.
func TestLongFlow(t *testing.T) {
	s := Space{Bits: 16, Window: 1 << 15}
	out, in := at(s, 0)
	for n := uint64(0); n < 1<<33; n += uint64(s.Window) {
		// As many writes at once as may be under way.
		out.Posted += s.Window
		in.edge += s.Window
		if err := out.HandleAck(in.Ack()); err != nil {
			t.Fatal(err)
		}
		if ok, err := in.Reached(out.Need()); !ok || err != nil {
			t.Fatalf("after %d writes: reached %v, error %v", n, ok, err)
		}
	}
}

func TestImpossible(t *testing.T) {
	s := Space{Bits: 4, Window: 8}
	for _, c := range []struct {
		name string
		do   func(*Out, *In) error
	}{
		{"a write twice, ahead of the edge", func(_ *Out, in *In) error { return errors.Join(in.Arrive(11), in.Arrive(11)) }},
		{"a write twice, behind the edge", func(_ *Out, in *In) error { return errors.Join(in.Arrive(10), in.Arrive(10)) }},
		{"a write beyond the window", func(_ *Out, in *In) error { return in.Arrive(10 + 8) }},
		{"a message behind writes beyond the window", func(_ *Out, in *In) error {
			_, err := in.Reached(10 + 9)
			return err
		}},
		{"more acknowledged than posted", func(out *Out, _ *In) error { return out.HandleAck(11) }},
		{"no bits", func(*Out, *In) error { return mark(Space{Bits: 1, Window: 1}.Check()) }},
		{"too many bits", func(*Out, *In) error { return mark(Space{Bits: 17, Window: 1}.Check()) }},
		{"no window", func(*Out, *In) error { return mark(Space{Bits: 4}.Check()) }},
		{"a window of more than half", func(*Out, *In) error { return mark(Space{Bits: 4, Window: 9}.Check()) }},
	} {
		out, in := at(s, 10)
		if err := c.do(out, in); !errors.Is(err, ErrNumbers) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	out, in := at(s, 10)
	out.Write()
	if err := errors.Join(in.Arrive(10), out.HandleAck(11), out.HandleAck(10)); err != nil {
		t.Errorf("an acknowledgement that was overtaken: %v", err)
	}
	if out.Unacknowledged() != 0 {
		t.Errorf("%d not acknowledged after one that was overtaken", out.Unacknowledged())
	}
}

func mark(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(ErrNumbers, err)
}

func TestUnwrite(t *testing.T) {
	out, in := at(Space{Bits: 4, Window: 8}, 15)
	first := out.Write()
	out.Unwrite()
	if again := out.Write(); again != first || out.All() != 16 {
		t.Errorf("number %d and then %d, %d in all", first, again, out.All())
	}
	if err := in.Arrive(first); err != nil || in.Ack() != 16 {
		t.Errorf("%d in, error %v", in.Ack(), err)
	}
}

func TestStreams(t *testing.T) {
	s := NewStreams[[2]int](100)
	have := map[[2]int]uint32{}
	r := rand.New(rand.NewPCG(1, 2))
	full := 0
	for range 100_000 {
		k := [2]int{r.IntN(16), r.IntN(12)}
		n, open := have[k]
		switch {
		case r.IntN(4) == 0:
			s.Close(k)
			if delete(have, k); open {
				if of, err := s.Of(n); !errors.Is(err, ErrNumbers) {
					t.Fatalf("stream %d was closed and is %v's, error %v", n, of, err)
				}
			}
			continue
		}
		got, ok := s.Open(k)
		switch {
		case !ok && (open || len(have) < 100):
			t.Fatalf("no number for %v with %d open", k, len(have))
		case !ok:
			full++
			continue
		case open && got != n:
			t.Fatalf("%v has stream %d and then %d", k, n, got)
		}
		have[k] = got
		if of, err := s.Of(got); of != k || err != nil {
			t.Fatalf("stream %d is %v's, error %v, and was given to %v", got, of, err, k)
		}
	}
	if full == 0 {
		t.Error("the numbers never ran out")
	}
	if _, err := s.Of(100); !errors.Is(err, ErrNumbers) {
		t.Errorf("stream 100 of 100: error %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	out, in := at(Default, 0)
	for b.Loop() {
		if err := in.Arrive(out.Write()); err != nil {
			b.Fatal(err)
		}
		if err := out.HandleAck(in.Ack()); err != nil {
			b.Fatal(err)
		}
	}
}
