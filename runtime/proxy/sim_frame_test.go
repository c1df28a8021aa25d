package proxy

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
	"libshmem/tests/need"
)

var simFrames = flag.Int("sim.frames", need.Load("frames"), "frames of TestSimFrames")

// A stranger is an endpoint of the network that belongs to no PE and sends arbitrary frames to PE
// 0.
type stranger struct {
	net    *sim.Network
	prov   fabric.Provider
	region fabric.Region
	buf    []byte
}

const frame = layout.MaxPayload + frameHeader

// simToken is that of the victim's job.
const simToken = 0x746f6b656e

// frameHeader is the number of bytes before the payload of a message.
const frameHeader = 56

// victim is PE 0 of two. The bytes around its memory must not change.
type victim struct {
	*Engine
	around []byte
	memory []byte
	fatal  error // the last
	said   error // the last report of a refused frame
	words  [6]uint32
}

const (
	fence = 0x5a // around the memory
	apart = 4096
)

func newVictim(t testing.TB, n *sim.Network) (*victim, *stranger) {
	t.Helper()
	v := &victim{around: bytes.Repeat([]byte{fence}, simInternal+8192+2*apart)}
	v.memory = v.around[apart : len(v.around)-apart]
	clear(v.memory)
	prov, err := n.Open(0, fabric.Config{Tokens: layout.Tokens, MaxRecv: layout.Receives})
	if err != nil {
		t.Fatal(err)
	}
	v.Engine, err = New(prov, 0, 2, mem.Segment{Base: unsafe.Pointer(&v.memory[0]), Internal: simInternal, Size: uint64(len(v.memory))},
		wake.Words{Lock: &v.words[0], Pollers: &v.words[1], Napping: &v.words[2], Sleepers: &v.words[3], Wakes: &v.words[4]},
		func(err error) { v.fatal = err })
	if err != nil {
		t.Fatal(err)
	}
	v.Report.ReportTo(func(err error) { v.said = err })
	s := &stranger{net: n, buf: make([]byte, frame+8)}
	if s.prov, err = n.Open(1, fabric.Config{Tokens: 4, MaxRecv: 1}); err != nil {
		t.Fatal(err)
	}
	if s.region, err = s.prov.Register(unsafe.Pointer(&s.buf[0]), uint64(len(s.buf))); err != nil {
		t.Fatal(err)
	}
	// For PE 0 the stranger has the address of PE 1: only a frame could show that it is not PE 1.
	me := v.Endpoint()
	me.Job = simToken
	if err := v.Connect([]Endpoint{me, {Addr: s.prov.Addr(), Window: me.Window}}); err != nil {
		t.Fatal(err)
	}
	if err := s.prov.Connect([][]byte{me.Addr}); err != nil {
		t.Fatal(err)
	}
	return v, s
}

// send sends a frame and lets the victim apply it.
func (s *stranger) send(t testing.TB, v *victim, b []byte) {
	t.Helper()
	n := copy(s.buf, b)
	op := fabric.Send{To: 0, Buf: unsafe.Pointer(&s.buf[0]), Len: n, Desc: s.region.Desc, Token: 1}
	for s.prov.Send(&op) != nil {
		s.poll(t)
	}
	for ended := false; !ended || !s.net.Settled(); {
		ended = s.poll(t) || ended
		if _, err := v.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if _, err := v.Poll(); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stranger) poll(t testing.TB) bool {
	t.Helper()
	var c [4]fabric.Completion
	k, err := s.prov.Poll(c[:])
	if err != nil {
		t.Fatal(err)
	}
	return k > 0
}

// check looks at the bytes around the memory.
func (v *victim) check(t testing.TB) {
	t.Helper()
	for i, b := range v.around {
		if (i < apart || i >= len(v.around)-apart) && b != fence {
			t.Fatalf("a frame has changed the byte at %d from the memory", i-apart)
		}
	}
}

// frames cuts an input into frames. Each frame has its length in front.
func frames(b []byte) [][]byte {
	var all [][]byte
	for len(b) >= 2 && len(all) < 16 {
		n := min(int(binary.LittleEndian.Uint16(b))%(frame+8), len(b)-2)
		one := bytes.Clone(b[2 : 2+n])
		if n >= frameHeader && one[32] != 0 { // otherwise few inputs would get past the token
			binary.NativeEndian.PutUint64(one[32:], simToken)
		}
		all = append(all, one)
		b = b[2+n:]
	}
	return all
}

// message returns a frame that an engine could send.
func message(kind, op, width, fetch byte, seq uint32, offset libshmem.Offset, operand, extra uint64, payload int) []byte {
	b := make([]byte, frameHeader+payload)
	b[0], b[1], b[2], b[3] = kind, op, width, fetch
	binary.NativeEndian.PutUint64(b[8:], uint64(offset))
	binary.NativeEndian.PutUint64(b[16:], operand)
	binary.NativeEndian.PutUint64(b[24:], extra)
	binary.NativeEndian.PutUint64(b[32:], simToken)
	binary.NativeEndian.PutUint32(b[40:], 1)
	binary.NativeEndian.PutUint32(b[44:], seq)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(b))), b...)
}

// soundFrames returns inputs from which frames of all kinds can be made.
func soundFrames() [][]byte {
	const heap = 8192
	var all [][]byte
	for kind := byte(0); kind < 18; kind++ {
		all = append(all,
			message(kind, 2, 8, 0, 1, 64, 7, 128, 0),
			message(kind, 9, 4, 1, 1, heap-4, 1, 0, 100),
			message(kind, 2, 8, 1, 1, heap-8, 1<<63, ^uint64(0), 8),
			message(kind, 1, 8, 0, 1, -simInternal, 1, heap-8, 4056),
			message(kind, 1, 8, 0, 1, -simInternal-1, 1<<40, heap-7, 1),
			append(message(kind, 2, 8, 0, 2, 0, 1, 0, 64), message(kind, 2, 8, 0, 1, 0, 1, 0, 0)...))
	}
	return append(all,
		message(1, 2, 8, 0, 1, 0, 1, 0, 0)[:20],
		batch(1, sound(2, 0, 64, 0), sound(3, 16, 128, 16), sound(1, 0, 72, 0)),
		batch(1, sound(3, 512, 0, 8)),
		batch(1, sound(3, 1<<31, 0, 8), sound(16, 0, 0, 0)))
}

// FuzzFrames: for arbitrary input from the network, the engine does not panic and writes nothing
// outside of its segment.
func FuzzFrames(f *testing.F) {
	for _, input := range soundFrames() {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		m := sim.Bare()
		m.Faults, m.MTU = faults.Faults{}, 1<<16
		n := sim.New(m, 1)
		v, s := newVictim(t, n)
		for _, b := range frames(input) {
			s.send(t, v, b)
		}
		v.check(t)
		for _, close := range []func() error{v.Close, s.prov.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Frames that are cut, repeated or too long are refused with a reason, and sound frames are
// applied.
func TestStranger(t *testing.T) {
	for _, c := range []struct {
		what  string
		bytes func(sound []byte) [][]byte
		want  string
	}{
		{"sound", func(b []byte) [][]byte { return [][]byte{b} }, ""},
		{"cut", func(b []byte) [][]byte { return [][]byte{b[:frameHeader-1]} }, "message of 55 bytes"},
		{"empty", func([]byte) [][]byte { return [][]byte{{}} }, "message of 0 bytes"},
		{"too long", func(b []byte) [][]byte { return [][]byte{append(bytes.Clone(b), make([]byte, frame+8-len(b))...)} }, "message of more than 4160 bytes"},
		{"repeated", func(b []byte) [][]byte { return [][]byte{b, b} }, "message 1 of PE 1, which has arrived before"},
		{"of no PE", func(b []byte) [][]byte { return [][]byte{with(b, 40, 9)} }, "message from PE 9, which is not in this job"},
		{"of another job", func(b []byte) [][]byte { return [][]byte{with(b, 34, b[34]^1)} }, "token of another job"},
	} {
		m := sim.Bare()
		m.Faults, m.MTU = faults.Faults{}, 1<<16
		v, s := newVictim(t, sim.New(m, 1))
		for _, b := range c.bytes(message(1, 2, 8, 0, 1, 64, 7, 0, 0)[2:]) {
			s.send(t, v, b)
		}
		v.check(t)
		got := ""
		if v.said != nil {
			got = v.said.Error()
		}
		if c.want == "" && got != "" || !bytes.Contains([]byte(got), []byte(c.want)) || (v.Report.Refused() == 1) != (c.want != "") {
			t.Errorf("%s: %d refused, %q, want %q", c.what, v.Report.Refused(), got, c.want)
		}
		if v.fatal != nil {
			t.Errorf("%s: it ended the job: %v", c.what, v.fatal)
		}
		want := uint64(0)
		if c.what == "sound" || c.what == "repeated" {
			want = 7
		}
		if word := binary.NativeEndian.Uint64(v.memory[simInternal+64:]); word != want {
			t.Errorf("%s: the word is %d, want %d", c.what, word, want)
		}
		// The job goes on: its next message is taken.
		next := uint32(1)
		if want != 0 {
			next = 2
		}
		s.send(t, v, message(1, 2, 8, 0, next, 72, 9, 0, 0)[2:])
		if word := binary.NativeEndian.Uint64(v.memory[simInternal+72:]); word != 9 {
			t.Errorf("%s: the next message was not applied", c.what)
		}
	}
}

// sound returns an operation of a batch, whose header names that many bytes of payload.
func sound(kind byte, says uint32, offset libshmem.Offset, payload int) []byte {
	b := make([]byte, 32+payload)
	b[0], b[1], b[2] = kind, 2, 8
	binary.NativeEndian.PutUint32(b[4:], says)
	binary.NativeEndian.PutUint64(b[8:], uint64(offset))
	binary.NativeEndian.PutUint64(b[16:], 7)
	return b
}

// batch returns a frame with several operations.
func batch(seq uint32, records ...[]byte) []byte {
	all := bytes.Join(records, nil)
	b := message(kindBatch, 0, 0, 0, seq, 0, 0, 0, len(all))
	copy(b[2+frameHeader:], all)
	return b
}

// kindBatch is the engine's kind of a batch.
const kindBatch = byte(layout.KindBatch)

func with(b []byte, at int, value byte) []byte {
	b = bytes.Clone(b)
	b[at] = value
	return b
}

// changed returns a frame with some bytes changed, cut out or doubled.
func changed(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			break
		}
		switch at := rng.IntN(len(b)); rng.IntN(5) {
		case 0:
			b[at] = byte(rng.Uint32())
		case 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2: // a length, an offset or a number at one of its ends
			at &^= 7
			ends := [...]uint64{0, 1, 7, 8, 4096, 8192, 1 << 31, 1 << 32, 1 << 63, ^uint64(0)}
			if at+8 <= len(b) {
				binary.NativeEndian.PutUint64(b[at:], ends[rng.IntN(len(ends))])
			}
		case 3:
			b = append(b[:at:at], b[min(len(b), at+1+rng.IntN(16)):]...)
		case 4:
			b = append(b[:at:at], append(bytes.Clone(b[at:min(len(b), at+16)]), b[at:]...)...)
		}
	}
	return b
}

// TestSimFrames sends frames made of random fields, and sound ones that were changed, most with the
// token and the number that the engine waits for: a fuzzer would get that far only by luck. If a
// victim has to keep frames until other frames come that never do, a new victim takes its place.
func TestSimFrames(t *testing.T) {
	const (
		each = 20_000
		idle = 16
	)
	rng := rand.New(rand.NewPCG(simPart.Seed(), 2))
	m := sim.Bare()
	m.Faults, m.MTU = faults.Faults{}, 1<<16
	seeds := soundFrames()
	most, sent, victims, refused, applied := simPart.Share(*simFrames), 0, 0, 0, 0
	for ; sent < most; victims++ {
		if m.PollBytes = 0; victims%3 == 2 {
			m.PollBytes = 1
		}
		v, s := newVictim(t, sim.New(m, 1))
		for stop, last := min(most, sent+each), sent; sent < stop; sent++ {
			due := v.ops.Peers[1].Received + 1
			var b []byte
			if rng.IntN(2) == 0 {
				kind, offset := byte(rng.IntN(18)), libshmem.Offset(rng.IntN(3*8192)-8192)
				if rng.IntN(2) == 0 { // more frames that make sense
					kind, offset = byte(1+rng.IntN(4)), libshmem.Offset(rng.IntN(1024)*8)
				}
				b = message(kind, byte(rng.IntN(14)), 1<<rng.IntN(5), byte(rng.IntN(2)), due,
					offset, rng.Uint64()>>rng.IntN(64), rng.Uint64()>>rng.IntN(64), rng.IntN(200))[2:]
			} else {
				b = changed(rng, seeds[rng.IntN(len(seeds))][2:])
				if len(b) >= frameHeader && rng.IntN(8) > 0 {
					binary.NativeEndian.PutUint64(b[32:], simToken)
					binary.NativeEndian.PutUint32(b[40:], 1)
					binary.NativeEndian.PutUint32(b[44:], due)
				}
			}
			v.fatal = nil
			before := v.Report.Refused()
			s.send(t, v, b)
			switch {
			case v.Report.Refused() > before || v.fatal != nil:
				refused++
			case v.ops.Peers[1].Received+1 != due:
				applied++
			}
			if v.ops.Peers[1].Received+1 != due {
				last = sent
			} else if n := v.in.Early.Len(); n > 0 && sent-last > idle {
				stop = sent
			}
		}
		v.check(t)
		for _, close := range []func() error{v.Close, s.prov.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("part %v: %d victims refused %d and applied %d of %d frames", simPart, victims, refused, applied, sent)
	if min(refused, applied) < sent/10 {
		t.Error("the test says little")
	}
}

// A batch is applied up to the first operation that makes no sense. That operation ends the job,
// because the batch carries the token.
func TestBatchFrames(t *testing.T) {
	for what, c := range map[string]struct {
		records [][]byte
		fatal   bool
		word    uint64 // at 64 in the end
	}{
		"sound":             {[][]byte{sound(2, 0, 64, 0)}, false, 7},
		"twice":             {[][]byte{sound(2, 0, 64, 0), sound(1, 0, 64, 0)}, false, 14},
		"a put":             {[][]byte{sound(3, 8, 80, 8), sound(2, 0, 64, 0)}, false, 7},
		"payload cut":       {[][]byte{sound(2, 0, 64, 0), sound(3, 16, 80, 8)}, true, 7},
		"payload too large": {[][]byte{sound(3, 2000, 80, 2000), sound(2, 0, 64, 0)}, true, 0},
		"header cut":        {[][]byte{sound(2, 0, 64, 0), make([]byte, 31)}, true, 7},
		"a batch":           {[][]byte{sound(kindBatch, 0, 64, 0), sound(2, 0, 64, 0)}, true, 0},
		"a flush":           {[][]byte{sound(5, 0, 64, 0)}, true, 0},
		"a fetch":           {[][]byte{with(sound(1, 0, 64, 0), 3, 1)}, true, 0},
	} {
		m := sim.Bare()
		m.Faults, m.MTU = faults.Faults{}, 1<<16
		v, s := newVictim(t, sim.New(m, 1))
		s.send(t, v, batch(1, c.records...)[2:])
		v.check(t)
		if word := binary.NativeEndian.Uint64(v.memory[simInternal+64:]); (v.fatal != nil) != c.fatal || word != c.word {
			t.Errorf("%s: the word is %d, want %d; error %v", what, word, c.word, v.fatal)
		}
	}
}
