package uid

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/tests/need"
)

var members = flag.Int("members", need.Load("members"), "the most simulated members in TestRootMemory")

// contribution is the size of what a PE gives to an allgather of init (runtime/job/meet,
// TestBootstrapScale).
const contribution = 230

// mute joins an allgather as a PE does, and reads nothing.
func mute(t *testing.T, r *Root, pe libshmem.PE, size int) net.Conn {
	t.Helper()
	conn, theirs := net.Pipe()
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * eventTimeout))
	r.welcome(theirs)
	proof, err := greet(conn, &r.secret)
	if err == nil {
		_, err = sendClaim(conn, proof, claim{pe: pe, size: size, session: uint64(pe) + 1, fresh: true})
	}
	for i, f := range []wire.Frame{
		{Kind: wire.Hello, Payload: wire.Greeting{PE: pe, Size: size}.Append(nil)},
		{Kind: wire.Gather, Seq: 1, Payload: bytes.Repeat([]byte{byte(pe)}, contribution)},
	} {
		if err != nil {
			break
		}
		b := binary.LittleEndian.AppendUint64(nil, uint64(i+1))
		b = binary.LittleEndian.AppendUint64(b, 0)
		if b, err = wire.Append(b, f); err == nil {
			_, err = conn.Write(b)
		}
	}
	if err != nil {
		t.Fatalf("PE %d: %v", pe, err)
	}
	return conn
}

// answered reports whether the root has the answer to the allgather for a PE.
func (r *Root) answered(pe libshmem.PE) bool {
	s := r.participants[pe].conversation
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.out) == 2
}

// inUse returns the memory of Go that is in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// TestRootMemory measures the memory of a root whose members have all joined an allgather of init
// and have read nothing: it holds the answer for each. The simulated members' ends are included.
// The root may need three times the answer and 32 KiB for each member.
func TestRootMemory(t *testing.T) {
	for _, n := range []int{1000, 10_000} {
		if n > *members {
			break
		}
		before := inUse()
		r, _ := root(t)
		var last net.Conn
		for pe := range libshmem.PE(n) {
			last = mute(t, r, pe, n)
		}
		for pe := range libshmem.PE(n) {
			need.Eventually(t, "the root has an answer for each PE", func() bool { return r.answered(pe) })
		}
		answer := 4 + n*(4+contribution)
		got := int(inUse() - before)
		t.Logf("%6d members: %d KiB for an answer of %d KiB; without it %.1f KiB a member",
			n, got>>10, answer>>10, float64(got-answer)/1024/float64(n))
		if most := 3*answer + n<<15; got > most {
			t.Errorf("the root of %d members holds %d KiB for an answer of %d KiB, at most %d", n, got>>10, answer>>10, most>>10)
		}
		wholeAnswer(t, last, n)
		r.Close()
	}
}

// wholeAnswer reads what the root has sent a PE up to the answer, which has each contribution.
func wholeAnswer(t *testing.T, conn net.Conn, n int) {
	t.Helper()
	for {
		var e [envelopeLen]byte
		if _, err := io.ReadFull(conn, e[:]); err != nil {
			t.Fatal(err)
		}
		if binary.LittleEndian.Uint64(e[:]) == 0 {
			continue
		}
		f, err := wire.Read(conn)
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind != wire.Gathered {
			continue
		}
		parts, err := wire.ParseParts(f.Payload)
		if err != nil || len(parts) != n {
			t.Fatalf("%d contributions, %v", len(parts), err)
		}
		for i, p := range parts {
			if !bytes.Equal(p, bytes.Repeat([]byte{byte(i)}, contribution)) {
				t.Fatalf("contribution %d is another one", i)
			}
		}
		return
	}
}
