package rendezvous

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
)

// mailbox collects the answers of a rendezvous.
type mailbox struct {
	mu  sync.Mutex
	got map[libshmem.PE][]wire.Frame
}

func (m *mailbox) send(pe libshmem.PE, b []byte) {
	f, err := wire.Read(bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got[pe] = append(m.got[pe], f)
}

// take returns a PE's only answer.
func (m *mailbox) take(t *testing.T, pe libshmem.PE) wire.Frame {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.got[pe]) != 1 {
		t.Fatalf("PE %d got %d answers, want 1", pe, len(m.got[pe]))
	}
	f := m.got[pe][0]
	delete(m.got, pe)
	return f
}

func (m *mailbox) empty(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for pe, f := range m.got {
		t.Errorf("PE %d got %v", pe, f)
	}
}

// meeting returns a rendezvous of PEs that have all said hello.
func meeting(t *testing.T, n int, timeout time.Duration) (*Meeting, *mailbox) {
	t.Helper()
	m := &mailbox{got: map[libshmem.PE][]wire.Frame{}}
	r := New(n, secret.New(), m.send)
	for pe := range libshmem.PE(n) {
		ok(t, r.Hello(pe, wire.Greeting{PE: pe, Size: n, Timeout: timeout}))
		m.welcome(t, r, pe)
	}
	return r, m
}

// welcome takes the answer to a hello.
func (m *mailbox) welcome(t *testing.T, r *Meeting, pe libshmem.PE) {
	t.Helper()
	f := m.take(t, pe)
	if a, err := wire.ParseAdmission(f.Payload); f.Kind != wire.Welcome || err != nil || a.Secret != r.secret {
		t.Fatalf("PE %d: %v, %v, want the job's secret", pe, f.Kind, err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gather(seq uint32, s string) wire.Frame {
	return wire.Frame{Kind: wire.Gather, Seq: seq, Payload: []byte(s)}
}

func TestGatherAndBarrier(t *testing.T) {
	r, m := meeting(t, 3, 0)
	for _, pe := range []libshmem.PE{2, 0} {
		ok(t, r.Join(pe, gather(1, fmt.Sprint("from ", pe))))
		m.empty(t)
	}
	ok(t, r.Join(1, gather(1, "from 1")))
	for pe := range libshmem.PE(3) {
		f := m.take(t, pe)
		parts, err := wire.ParseParts(f.Payload)
		if err != nil || f.Kind != wire.Gathered || f.Seq != 1 || len(parts) != 3 {
			t.Fatalf("PE %d: %v %d, %v", pe, f.Kind, f.Seq, err)
		}
		for i, p := range parts {
			if string(p) != fmt.Sprint("from ", i) {
				t.Errorf("PE %d, part %d: %q", pe, i, p)
			}
		}
	}
	for pe := range libshmem.PE(3) {
		ok(t, r.Join(pe, wire.Frame{Kind: wire.Barrier, Seq: 2}))
	}
	for pe := range libshmem.PE(3) {
		if f := m.take(t, pe); f.Kind != wire.Released || f.Seq != 2 {
			t.Errorf("PE %d: %v %d", pe, f.Kind, f.Seq)
		}
	}
	if len(r.steps) != 0 {
		t.Errorf("%d steps are kept", len(r.steps))
	}
}

// PEs that get the same answer get the same memory, so that the answer of a large job is there
// once.
func TestAnswersAreShared(t *testing.T) {
	const n = 3
	got := map[libshmem.PE][]byte{}
	r := New(n, secret.New(), func(pe libshmem.PE, frame []byte) { got[pe] = frame })
	shared := func(what string, pes ...libshmem.PE) {
		t.Helper()
		for _, pe := range pes {
			if len(got[pe]) == 0 || &got[pe][0] != &got[pes[0]][0] {
				t.Errorf("%s: PE %d has a frame of its own", what, pe)
			}
		}
		clear(got)
	}
	for pe := range libshmem.PE(n) {
		ok(t, r.Hello(pe, wire.Greeting{PE: pe, Size: n, Survives: true}))
	}
	clear(got)
	for pe := range libshmem.PE(n) {
		ok(t, r.Join(pe, gather(1, "part")))
	}
	shared("allgather", 0, 1, 2)
	for pe := range libshmem.PE(n) {
		ok(t, r.Join(pe, wire.Frame{Kind: wire.Barrier, Seq: 2}))
	}
	shared("barrier", 0, 1, 2)
	r.End(2, wire.Outcome{How: wire.Killed, Code: 9})
	shared("loss", 0, 1)
}

func TestMissingPEs(t *testing.T) {
	r, m := meeting(t, 4, time.Hour)
	ok(t, r.Join(1, gather(1, "")))
	ok(t, r.Join(3, gather(1, "")))
	m.empty(t)
	for key, s := range r.steps {
		r.expire(key, s) // an hour later
	}
	for _, pe := range []libshmem.PE{1, 3} {
		f := m.take(t, pe)
		a, err := wire.ParseAbsence(f.Payload)
		if err != nil || f.Kind != wire.Missing || len(a.PEs) != 2 || a.PEs[0] != 0 || a.PEs[1] != 2 || a.Waited != time.Hour {
			t.Errorf("PE %d: %v %+v, %v", pe, f.Kind, a, err)
		}
	}
	ok(t, r.Join(0, gather(1, "")))
	if f := m.take(t, 0); f.Kind != wire.Refused || !strings.Contains(string(f.Payload), "given up") {
		t.Errorf("the PE that came late: %v %q", f.Kind, f.Payload)
	}
}

// A step's time begins with the first PE that comes.
func TestStepExpires(t *testing.T) {
	r, m := meeting(t, 2, time.Millisecond)
	ok(t, r.Join(0, gather(1, "")))
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		n := len(m.got[0])
		m.mu.Unlock()
		if n == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no answer after the timeout")
		}
	}
	if f := m.take(t, 0); f.Kind != wire.Missing {
		t.Errorf("%v after the timeout", f.Kind)
	}
}

func TestPeerEndsDuringStep(t *testing.T) {
	killed := wire.Outcome{How: wire.Killed, Code: 9}
	for _, first := range []bool{true, false} { // whether it ends before the step begins
		r, m := meeting(t, 3, 0)
		if first {
			r.End(1, killed)
		}
		ok(t, r.Join(0, gather(1, "")))
		if !first {
			m.empty(t)
			r.End(1, killed)
		}
		l, err := wire.ParseLoss(m.take(t, 0).Payload)
		if err != nil || l.PE != 1 || l.Outcome != killed {
			t.Errorf("ended first %t: %+v, %v", first, l, err)
		}
		ok(t, r.Join(2, gather(1, "")))
		if f := m.take(t, 2); f.Kind != wire.PeerFailed {
			t.Errorf("ended first %t, PE that came late: %v", first, f.Kind)
		}
	}
}

// A PE that joined and then died is not missed: its contribution is there.
func TestPeerEndsAfterJoining(t *testing.T) {
	r, m := meeting(t, 2, 0)
	ok(t, r.Join(1, gather(1, "last words")))
	r.End(1, wire.Outcome{How: wire.Killed, Code: 9})
	ok(t, r.Join(0, gather(1, "")))
	if f := m.take(t, 0); f.Kind != wire.Gathered {
		t.Errorf("%v", f.Kind)
	}
}

func TestLostIsTold(t *testing.T) {
	r, m := meeting(t, 3, 0)
	var told string
	r.Lost = func(pe libshmem.PE, outcome wire.Outcome, step string, wait []libshmem.PE) {
		told = fmt.Sprintf("PE %d %v, but %s", pe, outcome, WaitFor(step, wait))
	}
	ok(t, r.Join(0, gather(1, "")))
	ok(t, r.Join(2, gather(1, "")))
	r.End(1, wire.Outcome{How: wire.Exited, Init: true})
	if want := "PE 1 exited with status 0 without shmem_finalize, but PEs 0, 2 wait for it in allgather 1"; told != want {
		t.Errorf("%q, want %q", told, want)
	}
	m.take(t, 0)
	m.take(t, 2)
}

func TestPeerFinalizedTooEarly(t *testing.T) {
	r, m := meeting(t, 2, 0)
	ok(t, r.Join(0, gather(1, "")))
	ok(t, r.Leave(1, false))
	l, err := wire.ParseLoss(m.take(t, 0).Payload)
	if err != nil || l.PE != 1 || l.Outcome.How != wire.Finalized {
		t.Errorf("%+v, %v", l, err)
	}
}

// A PE that waits for a PE whose initialisation has failed learns so, and the failed PE has not
// finalized: others may never have come.
func TestPeerFailedInInit(t *testing.T) {
	r, m := meeting(t, 2, 0)
	ok(t, r.Join(0, gather(1, "")))
	ok(t, r.Leave(1, true))
	l, err := wire.ParseLoss(m.take(t, 0).Payload)
	if err != nil || l.PE != 1 || l.Outcome.How != wire.Failed {
		t.Errorf("%+v, %v", l, err)
	}
	if r.State(1) != (PeerStatus{}) {
		t.Errorf("%+v", r.State(1))
	}
	ok(t, r.Hello(1, wire.Greeting{PE: 1, Size: 2}))
	m.welcome(t, r, 1)
	ok(t, r.Leave(1, false))
	if want := (PeerStatus{Finalized: true}); r.State(1) != want {
		t.Errorf("%+v, want %+v", r.State(1), want)
	}
}

func TestDifferentCalls(t *testing.T) {
	r, m := meeting(t, 3, 0)
	ok(t, r.Join(0, gather(1, "")))
	ok(t, r.Join(1, wire.Frame{Kind: wire.Barrier, Seq: 1}))
	for pe := range libshmem.PE(2) {
		if f := m.take(t, pe); f.Kind != wire.Refused || !strings.HasPrefix(string(f.Payload), "PE 1 is in barrier 1 while PE 0 is in allgather 1") {
			t.Errorf("PE %d: %v %q", pe, f.Kind, f.Payload)
		}
	}
	ok(t, r.Join(2, gather(1, "")))
	if f := m.take(t, 2); f.Kind != wire.Refused {
		t.Errorf("PE 2: %v", f.Kind)
	}
}

// A shell script may start one program after the other in each PE.
func TestSecondLife(t *testing.T) {
	r, m := meeting(t, 2, 0)
	ok(t, r.Join(0, gather(1, "a")))
	ok(t, r.Join(1, gather(1, "b")))
	m.take(t, 0)
	m.take(t, 1)
	ok(t, r.Leave(0, false))
	ok(t, r.Hello(0, wire.Greeting{PE: 0, Size: 2}))
	m.welcome(t, r, 0)
	ok(t, r.Join(0, gather(1, "second a")))
	m.empty(t)
	ok(t, r.Leave(1, false))
	m.empty(t)
	ok(t, r.Hello(1, wire.Greeting{PE: 1, Size: 2}))
	m.welcome(t, r, 1)
	ok(t, r.Join(1, gather(1, "second b")))
	parts, err := wire.ParseParts(m.take(t, 0).Payload)
	if err != nil || string(parts[1]) != "second b" {
		t.Errorf("%q, %v", parts, err)
	}
}

func TestBreaches(t *testing.T) {
	r, _ := meeting(t, 2, 0)
	for name, err := range map[string]error{
		"second hello":        r.Hello(0, wire.Greeting{PE: 0, Size: 2}),
		"step 2 before 1":     r.Join(0, gather(2, "")),
		"too much":            r.Join(0, wire.Frame{Kind: wire.Gather, Seq: 1, Payload: make([]byte, wire.MaxContribution+1)}),
		"step before hello":   New(1, secret.New(), nil).Join(0, gather(1, "")),
		"done before hello":   New(1, secret.New(), nil).Leave(0, false),
		"hello of another PE": New(2, secret.New(), nil).Hello(0, wire.Greeting{PE: 1, Size: 2}),
		"hello of other size": New(2, secret.New(), nil).Hello(0, wire.Greeting{PE: 0, Size: 3}),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	ok(t, r.Join(0, gather(1, "")))
	if r.Join(0, gather(2, "")) == nil {
		t.Error("a step while the last is not answered was taken")
	}
	if r.Leave(0, false) == nil {
		t.Error("done in the middle of a step was taken")
	}
}

// PEs that go on learn which PE has failed, and part without it.
func TestGoOn(t *testing.T) {
	const n = 4
	m := &mailbox{got: map[libshmem.PE][]wire.Frame{}}
	r := New(n, secret.New(), m.send)
	for pe := range libshmem.PE(n) {
		ok(t, r.Hello(pe, wire.Greeting{PE: pe, Size: n, Survives: pe != 3}))
		m.welcome(t, r, pe)
	}
	killed := wire.Outcome{How: wire.Killed, Code: 9, Init: true}
	part := wire.Frame{Kind: wire.LeaveBarrier, Seq: 1}
	ok(t, r.Join(0, part))
	r.End(1, killed)
	for _, pe := range []libshmem.PE{0, 2} { // PE 3 does not want to know, PE 1 is gone
		f := m.take(t, pe)
		if l, err := wire.ParseLoss(f.Payload); f.Kind != wire.Lost || f.Seq != 0 || err != nil || l.PE != 1 || l.Outcome != killed {
			t.Errorf("PE %d: %v %d %+v, %v", pe, f.Kind, f.Seq, l, err)
		}
	}
	ok(t, r.Join(2, part))
	m.empty(t) // PE 3 lives
	ok(t, r.Join(3, part))
	for _, pe := range []libshmem.PE{0, 2, 3} {
		if f := m.take(t, pe); f.Kind != wire.Released || f.Seq != 1 {
			t.Errorf("PE %d: %v %d", pe, f.Kind, f.Seq)
		}
	}
	// Any other step still needs everybody, and so does parting from one that
	// others cannot do without.
	ok(t, r.Join(0, wire.Frame{Kind: wire.Barrier, Seq: 2}))
	if f := m.take(t, 0); f.Kind != wire.PeerFailed {
		t.Errorf("a barrier without PE 1: %v", f.Kind)
	}
	ok(t, r.Join(2, wire.Frame{Kind: wire.Barrier, Seq: 2}))
	m.take(t, 2)
	ok(t, r.Join(2, wire.Frame{Kind: wire.LeaveBarrier, Seq: 3}))
	r.End(3, wire.Outcome{How: wire.Exited, Code: 1, Init: true})
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.got[2]; len(f) != 2 || f[0].Kind != wire.Lost || f[1].Kind != wire.PeerFailed {
		t.Errorf("PE 2 parts from PE 3, which has failed: %v", f)
	}
}

// The last one to be waited for fails.
func TestPartEndsByLoss(t *testing.T) {
	m := &mailbox{got: map[libshmem.PE][]wire.Frame{}}
	r := New(2, secret.New(), m.send)
	for pe := range libshmem.PE(2) {
		ok(t, r.Hello(pe, wire.Greeting{PE: pe, Size: 2, Survives: true}))
		m.welcome(t, r, pe)
	}
	ok(t, r.Join(0, wire.Frame{Kind: wire.LeaveBarrier, Seq: 1}))
	r.End(1, wire.Outcome{How: wire.Killed, Code: 9})
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.got[0]; len(f) != 2 || f[0].Kind != wire.Lost || f[1].Kind != wire.Released {
		t.Errorf("PE 0 got %v, want the loss and its release", f)
	}
	if len(r.steps) != 0 {
		t.Errorf("%d steps are kept", len(r.steps))
	}
}

// A PE that left before it ended does not come to a later life of the others: they learn so at once.
func TestPartWithoutOneThatLeft(t *testing.T) {
	m := &mailbox{got: map[libshmem.PE][]wire.Frame{}}
	r := New(2, secret.New(), m.send)
	survives := func(pe libshmem.PE) {
		ok(t, r.Hello(pe, wire.Greeting{PE: pe, Size: 2, Survives: true}))
		m.welcome(t, r, pe)
	}
	for pe := range libshmem.PE(2) {
		survives(pe)
		ok(t, r.Leave(pe, false))
	}
	survives(0)
	r.End(1, wire.Outcome{How: wire.Exited})
	ok(t, r.Join(0, wire.Frame{Kind: wire.LeaveBarrier, Seq: 1}))
	if f := m.take(t, 0); f.Kind != wire.PeerFailed {
		t.Errorf("PE 0 got %v", f.Kind)
	}
}

// On request the room reports PEs that have left or ended, and only those.
func TestInquire(t *testing.T) {
	r, m := meeting(t, 6, 0)
	ok(t, r.Leave(1, false))
	ok(t, r.Leave(2, false))
	r.End(2, wire.Outcome{How: wire.Exited, Code: 3})
	r.End(3, wire.Outcome{How: wire.Exited, Init: true})
	ok(t, r.Leave(4, true))
	m.empty(t)
	ok(t, r.Inquire(0, wire.Frame{Kind: wire.Inquiry, Payload: wire.AppendPEs(nil, []libshmem.PE{5, 4, 3, 2, 1, 0})}))
	f := m.take(t, 0)
	all, err := wire.ParseOutcomes(f.Payload)
	if err != nil || f.Kind != wire.Outcomes || f.Seq != 0 {
		t.Fatalf("%v %d: %v", f.Kind, f.Seq, err)
	}
	var got []string
	for _, l := range all {
		got = append(got, fmt.Sprintf("PE %d %v", l.PE, l.Outcome))
	}
	want := []string{
		"PE 4 failed in shmem_init (see its error)", "PE 3 exited with status 0 without shmem_finalize",
		"PE 2 called shmem_finalize, and ended with status 3", "PE 1 called shmem_finalize",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := r.Inquire(0, wire.Frame{Kind: wire.Inquiry, Payload: wire.AppendPEs(nil, []libshmem.PE{6})}); err == nil {
		t.Error("the room was asked about PE 6 of 6, and answered")
	}
	m.empty(t)
}
