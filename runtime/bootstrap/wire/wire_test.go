package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/tests/mutate"
	"libshmem/tests/part"
)

func mustAppend(t testing.TB, f Frame) []byte {
	t.Helper()
	b, err := Append(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrameRoundTrip(t *testing.T) {
	for k := Hello; k < kinds; k++ {
		for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
			in := Frame{Kind: k, Seq: math.MaxUint32 - uint32(k), Payload: bytes.Repeat([]byte{byte(k)}, n)}
			r := bytes.NewReader(mustAppend(t, in))
			out, err := Read(r)
			if err != nil {
				t.Fatalf("%v of %d bytes: %v", k, n, err)
			}
			if out.Kind != in.Kind || out.Seq != in.Seq || !bytes.Equal(out.Payload, in.Payload) {
				t.Errorf("%v of %d bytes came back as %v %d of %d", k, n, out.Kind, out.Seq, len(out.Payload))
			}
			if _, err := Read(r); err != io.EOF {
				t.Errorf("after the last frame: %v, want io.EOF", err)
			}
		}
	}
}

// A frame may have all of MaxPayload, which no other test sends.
func TestLongestFrame(t *testing.T) {
	var h [HeaderLen]byte
	copy(h[:], mustAppend(t, Frame{Kind: Gathered, Seq: 1}))
	binary.LittleEndian.PutUint32(h[12:], MaxPayload)
	if _, n, err := parseHeader(&h); err != nil || n != MaxPayload {
		t.Errorf("a frame of %d bytes: %d, %v", MaxPayload, n, err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := mustAppend(t, Frame{Kind: Gather, Seq: 1, Payload: []byte("abc")})
	change := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	for _, c := range []struct {
		name, want string
		in         []byte
	}{
		{"magic", "begins with", change(0, 'X')},
		{"version", "protocol version 2, here 5", change(4, 2)},
		{"kind 0", "unknown", change(5, 0)},
		{"kind beyond the last", "unknown kind 19", change(5, byte(kinds))},
		{"reserved", "reserved", change(7, 1)},
		{"length", "at most 67108864", change(12, 1, 0, 0, 4)},
	} {
		_, err := Read(bytes.NewReader(c.in))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want ErrFormat with %q", c.name, err, c.want)
		}
	}
	for n := 1; n < len(good); n++ {
		if _, err := Read(bytes.NewReader(good[:n])); err != io.ErrUnexpectedEOF {
			t.Errorf("first %d bytes of a frame: %v, want io.ErrUnexpectedEOF", n, err)
		}
	}
	if _, err := Append(nil, Frame{Kind: Gather, Payload: make([]byte, MaxPayload+1)}); err == nil {
		t.Error("Append took more than MaxPayload")
	}
}

// A header may promise 64 MiB that never come.
func TestReadAllocatesWhatArrives(t *testing.T) {
	h := mustAppend(t, Frame{Kind: Gather})
	h[12], h[13], h[14], h[15] = 0, 0, 0, 4
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 100
	for range rounds {
		if _, err := Read(bytes.NewReader(h)); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / rounds; got > 4*chunk {
		t.Errorf("a bare header cost %d bytes", got)
	}
}

func TestPayloadsRoundTrip(t *testing.T) {
	g := Greeting{PE: 3, Size: 4, Timeout: 5 * time.Second, Survives: true, PID: 77}
	if got, err := ParseGreeting(g.Append(nil)); err != nil || got != g {
		t.Errorf("%+v: %+v, %v", g, got, err)
	}
	if got, err := ParseGreeting(Greeting{Size: 1, Timeout: -1}.Append(nil)); err != nil || got.Timeout != 0 {
		t.Errorf("negative timeout: %+v, %v, want none", got, err)
	}
	adm := Admission{Secret: secret.New()}
	if got, err := ParseAdmission(adm.Append(nil)); err != nil || got != adm {
		t.Errorf("admission: %v", err)
	}
	parts := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("b"), 1000)}
	b := AppendParts(nil, parts)
	if len(b) != PartsLen(parts) {
		t.Errorf("PartsLen says %d, AppendParts wrote %d", PartsLen(parts), len(b))
	}
	if got, err := ParseParts(b); err != nil || !reflect.DeepEqual(got, parts) {
		t.Errorf("parts: %q, %v", got, err)
	}
	e := Ending{Status: -7, Reason: "no memory"}
	if got, err := ParseEnding(e.Append(nil)); err != nil || got != e {
		t.Errorf("%+v: %+v, %v", e, got, err)
	}
	long := Ending{Reason: strings.Repeat("x", MaxText+1)}
	if got, err := ParseEnding(long.Append(nil)); err != nil || len(got.Reason) != MaxText {
		t.Errorf("long reason: %d bytes, %v, want it cut to %d", len(got.Reason), err, MaxText)
	}
	a := Absence{Waited: time.Minute, PEs: []libshmem.PE{0, 5, 6}}
	if got, err := ParseAbsence(a.Append(nil)); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v: %+v, %v", a, got, err)
	}
	l := Loss{PE: 9, Outcome: Outcome{How: Killed, Code: 11, Core: true, Init: true}}
	if got, err := ParseLoss(l.Append(nil)); err != nil || got != l {
		t.Errorf("%+v: %+v, %v", l, got, err)
	}
	pes := []libshmem.PE{7, 0, 2}
	if got, err := ParsePEs(AppendPEs(nil, pes), 8); err != nil || !reflect.DeepEqual(got, pes) {
		t.Errorf("%v: %v, %v", pes, got, err)
	}
	left := Loss{PE: 2, Outcome: Outcome{How: Left, Code: 3}}
	if got, err := ParseOutcomes(left.Append(l.Append(nil))); err != nil || !reflect.DeepEqual(got, []Loss{l, left}) {
		t.Errorf("outcomes: %+v, %v", got, err)
	}
}

func TestPayloadsRefuse(t *testing.T) {
	greeting := func(b []byte) error { _, err := ParseGreeting(b); return err }
	parts := func(b []byte) error { _, err := ParseParts(b); return err }
	ending := func(b []byte) error { _, err := ParseEnding(b); return err }
	absence := func(b []byte) error { _, err := ParseAbsence(b); return err }
	loss := func(b []byte) error { _, err := ParseLoss(b); return err }
	pes := func(b []byte) error { _, err := ParsePEs(b, 4); return err }
	outcomes := func(b []byte) error { _, err := ParseOutcomes(b); return err }
	admission := func(b []byte) error { _, err := ParseAdmission(b); return err }
	for _, c := range []struct {
		name  string
		parse func([]byte) error
		in    []byte
	}{
		{"short hello", greeting, make([]byte, 23)},
		{"hello with unknown flags", greeting, append(Greeting{Size: 1}.Append(nil)[:17], 0, 0, 1, 0, 0, 0, 0)},
		{"short welcome", admission, make([]byte, 31)},
		{"PE beyond the size", greeting, Greeting{PE: 4, Size: 4}.Append(nil)},
		{"hello with timeout beyond int64", greeting, append(Greeting{Size: 1}.Append(nil)[:8], 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0)},
		{"hello of a process beyond int32", greeting, append(Greeting{Size: 1}.Append(nil)[:20], 0, 0, 0, 0x80)},
		{"no count", parts, []byte{1, 0, 0}},
		{"count beyond the bytes", parts, []byte{255, 255, 255, 255, 0, 0, 0, 0}},
		{"part beyond the bytes", parts, []byte{1, 0, 0, 0, 9, 0, 0, 0, 'a'}},
		{"bytes left over", parts, []byte{0, 0, 0, 0, 0}},
		{"second part missing", parts, []byte{2, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4}},
		{"no status", ending, []byte{1, 2, 3}},
		{"long reason", ending, make([]byte, 5+MaxText)},
		{"absence cut", absence, make([]byte, 11)},
		{"absence out of order", absence, Absence{PEs: []libshmem.PE{2, 2}}.Append(nil)},
		{"negative wait", absence, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}},
		{"short loss", loss, make([]byte, 11)},
		{"unknown outcome", loss, []byte{0, 0, 0, 0, 0, 0, 0, 0, byte(hows), 0, 0, 0}},
		{"flag of 2", loss, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0}},
		{"inquiry cut", pes, make([]byte, 7)},
		{"inquiry about a PE beyond the size", pes, AppendPEs(nil, []libshmem.PE{3, 4})},
		{"inquiry about too many", pes, make([]byte, 4*(MaxInquiry+1))},
		{"outcomes cut", outcomes, make([]byte, 13)},
		{"unknown outcome among others", outcomes, append(Loss{}.Append(nil), 0, 0, 0, 0, 0, 0, 0, 0, byte(hows), 0, 0, 0)},
		{"too many outcomes", outcomes, make([]byte, 12*(MaxInquiry+1))},
		{"status of 256", loss, []byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
	} {
		if err := c.parse(c.in); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", c.name, err)
		}
	}
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		bad     bool
		status  int
		text    string
	}{
		{Outcome{How: Killed, Code: 11}, true, 139, "was killed by signal 11 (segmentation fault)"},
		{Outcome{How: Killed, Code: 6, Core: true}, true, 134, "was killed by signal 6 (aborted), core dumped"},
		{Outcome{How: Exited, Code: 3}, true, 3, "exited with status 3"},
		{Outcome{How: Exited}, false, 0, "exited with status 0 without shmem_init"},
		{Outcome{How: Exited, Init: true}, false, 0, "exited with status 0 without shmem_finalize"},
		{Outcome{How: Finalized}, false, 0, "called shmem_finalize"},
		{Outcome{How: Left, Code: 3}, false, 3, "called shmem_finalize, and ended with status 3"},
		{Outcome{How: Failed}, false, 0, "failed in shmem_init (see its error)"},
	} {
		if c.outcome.Bad() != c.bad || c.outcome.Status() != c.status || c.outcome.String() != c.text {
			t.Errorf("%+v: bad %t, status %d, %q", c.outcome, c.outcome.Bad(), c.outcome.Status(), c.outcome)
		}
	}
}

// reencode parses a payload as its frame's kind says and encodes it again.
func reencode(f Frame) ([]byte, error) {
	switch f.Kind {
	case Hello:
		v, err := ParseGreeting(f.Payload)
		return v.Append(nil), err
	case Gathered:
		v, err := ParseParts(f.Payload)
		return AppendParts(nil, v), err
	case Abort, Exit:
		v, err := ParseEnding(f.Payload)
		return v.Append(nil), err
	case Missing:
		v, err := ParseAbsence(f.Payload)
		return v.Append(nil), err
	case Welcome:
		v, err := ParseAdmission(f.Payload)
		return v.Append(nil), err
	case PeerFailed, Lost:
		v, err := ParseLoss(f.Payload)
		return v.Append(nil), err
	case Inquiry:
		v, err := ParsePEs(f.Payload, math.MaxInt32)
		return AppendPEs(nil, v), err
	case Outcomes:
		all, err := ParseOutcomes(f.Payload)
		var b []byte
		for _, v := range all {
			b = v.Append(b)
		}
		return b, err
	}
	return f.Payload, nil
}

// FuzzRead reads frames from arbitrary bytes. An accepted frame has only one encoding: it comes out
// as it came in.
func FuzzRead(f *testing.F) {
	for _, s := range soundFrames() {
		b := mustAppend(f, s)
		f.Add(b)
		f.Add(append(bytes.Clone(b), b...))
		f.Add(b[:len(b)-1])
	}
	f.Fuzz(readChanged)
}

func readChanged(t *testing.T, in []byte) {
	r := bytes.NewReader(in)
	for {
		at := len(in) - r.Len()
		fr, err := Read(r)
		if err != nil {
			return
		}
		if got := mustAppend(t, fr); !bytes.Equal(got, in[at:len(in)-r.Len()]) {
			t.Fatalf("frame % x came back as % x", in[at:len(in)-r.Len()], got)
		}
		if p, err := reencode(fr); err == nil && !bytes.Equal(p, fr.Payload) {
			t.Fatalf("payload of %v % x came back as % x", fr.Kind, fr.Payload, p)
		}
	}
}

// soundFrames has a frame of each kind.
func soundFrames() []Frame {
	return []Frame{
		{Kind: Hello, Payload: Greeting{PE: 1, Size: 2, Timeout: time.Second}.Append(nil)},
		{Kind: Gather, Seq: 1, Payload: []byte("mine")},
		{Kind: Gathered, Seq: 1, Payload: AppendParts(nil, [][]byte{[]byte("a"), nil, []byte("ccc")})},
		{Kind: Barrier, Seq: 2},
		{Kind: Released, Seq: 2},
		{Kind: Abort, Payload: Ending{Status: 3, Reason: "why"}.Append(nil)},
		{Kind: Exit, Payload: Ending{Status: -1}.Append(nil)},
		{Kind: Done},
		{Kind: Missing, Seq: 3, Payload: Absence{Waited: time.Second, PEs: []libshmem.PE{1, 4}}.Append(nil)},
		{Kind: PeerFailed, Seq: 3, Payload: Loss{PE: 2, Outcome: Outcome{How: Killed, Code: 9}}.Append(nil)},
		{Kind: Refused, Seq: 4, Payload: []byte("no")},
		{Kind: Welcome, Payload: make([]byte, 32)},
		{Kind: Lost, Payload: Loss{PE: 1, Outcome: Outcome{How: Exited, Code: 3, Init: true}}.Append(nil)},
		{Kind: LeaveBarrier, Seq: 5},
		{Kind: Fail},
		{Kind: Inquiry, Payload: AppendPEs(nil, []libshmem.PE{1, 0})},
		{Kind: Outcomes, Payload: Loss{PE: 1, Outcome: Outcome{How: Left}}.Append(nil)},
	}
}

// TestMutations is FuzzRead for changed frames.
func TestMutations(t *testing.T) {
	var samples [][]byte
	for _, s := range soundFrames() {
		samples = append(samples, mustAppend(t, s))
	}
	mutate.Each(t, samples, func(in []byte) { readChanged(t, in) })
}

var (
	frames    = flag.Int("frames", 100_000, "streams of TestManyFrames")
	framePart = part.Flag("part", "each with streams of its own")
)

// TestManyFrames reads streams that were frames before bytes of them were
// changed, cut out, doubled and put together anew: none of them may end the reader
// but by an error. FuzzRead goes on from there.
func TestManyFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(framePart.Seed(), 9))
	var sound [][]byte
	for k := Hello; k < kinds; k++ {
		sound = append(sound, mustAppend(t, Frame{Kind: k, Seq: uint32(k)}))
	}
	for _, f := range []Frame{
		{Kind: Hello, Payload: Greeting{PE: 1, Size: 2, Timeout: time.Second, Survives: true}.Append(nil)},
		{Kind: Welcome, Payload: make([]byte, 32)},
		{Kind: Gathered, Seq: 1, Payload: AppendParts(nil, [][]byte{[]byte("a"), nil, make([]byte, 300)})},
		{Kind: Abort, Payload: Ending{Status: 3, Reason: "why"}.Append(nil)},
		{Kind: Missing, Seq: 3, Payload: Absence{Waited: time.Second, PEs: []libshmem.PE{1, 4}}.Append(nil)},
		{Kind: Lost, Payload: Loss{PE: 2, Outcome: Outcome{How: Killed, Code: 9}}.Append(nil)},
		{Kind: Outcomes, Payload: Loss{PE: 2, Outcome: Outcome{How: Killed, Code: 9}}.Append(nil)},
	} {
		sound = append(sound, mustAppend(t, f))
	}
	read, refused := 0, 0
	most := framePart.Share(*frames)
	for range most {
		var in []byte
		for range 1 + rng.IntN(3) {
			in = append(in, sound[rng.IntN(len(sound))]...)
		}
		for range rng.IntN(4) {
			switch at := rng.IntN(len(in)); rng.IntN(4) {
			case 0:
				in[at] = byte(rng.Uint32())
			case 1:
				in[at] ^= 1 << rng.IntN(8)
			case 2:
				in = append(in[:at:at], in[min(len(in), at+1+rng.IntN(8)):]...)
			case 3:
				in = append(in[:at:at], append(bytes.Clone(in[at:min(len(in), at+8)]), in[at:]...)...)
			}
			if len(in) == 0 {
				break
			}
		}
		for r := bytes.NewReader(in); ; read++ {
			f, err := Read(r)
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, ErrFormat) {
					t.Fatalf("% x: %v", in, err)
				}
				break
			}
			if _, err := reencode(f); err != nil {
				refused++
			}
		}
	}
	t.Logf("part %v: %d frames read and %d payloads refused of %d streams", framePart, read, refused, most)
	if read < most/2 || refused < most/20 {
		t.Errorf("%d frames were read and %d payloads refused: the test says little", read, refused)
	}
}
