package sim

import (
	"fmt"
	"strings"

	"libshmem/fabric/faults"
)

// record is one thing that happened. It has no addresses of memory, which differ between runs. The
// meaning of a and b depends on the kind: a call of note shows it.
type record struct {
	at       Time
	kind     recordKind
	from, to int // numbers of endpoints, in the order of opening; -1: none
	a, b     uint64
}

// recordKind is the kind of a record. kindText has the text of each kind, for reports.
type recordKind uint8

const (
	didOpen recordKind = iota
	didPost
	didRefuse
	didRecv
	didLeave
	didArrive
	didHold
	didLand
	didDeliver
	didComplete
	didFail
	didClose
	didNIC
	didAtomic
	didQueue
	didHandshake
	didNotReady
)

// kindText has the text of each recordKind: what the endpoint that a line begins with does.
var kindText = [...]string{
	"opens", "posts", "is refused, call", "posts receive", "sends packet of", "gets packet of", "holds packet of", "sees bytes of",
	"has all of", "completes token", "fails", "is gone", "NIC changes, up:", "does atomic operation", "has unread packet of",
	"in a handshake, reply:", "has no receive buffer for",
}

// maxRecords caps the records that Tail can list.
const maxRecords = 4096

// trace is a hash of all records, their number, and the last of them.
type trace struct {
	hash  uint64
	count uint64
	last  []record
}

// add adds a record to the hash of all records, by which a test compares two runs, and to the last
// ones, which Tail lists. The constant, 2^64 divided by the golden ratio, is there because Mix of
// 0, a frequent b, is 0.
func (t *trace) add(r record) {
	h := t.hash
	h = faults.Mix(h ^ uint64(r.at))
	h = faults.Mix(h ^ uint64(r.kind)<<56 ^ uint64(uint32(r.from))<<28 ^ uint64(uint32(r.to)))
	t.hash = faults.Mix(h^r.a) ^ faults.Mix(r.b+0x9e37_79b9_7f4a_7c15)
	t.count++
	if len(t.last) < maxRecords {
		t.last = append(t.last, r)
	} else {
		t.last[(t.count-1)%maxRecords] = r
	}
}

// Trace returns a hash of all that has happened so far: two runs with the same hash went the same
// way.
func (n *Network) Trace() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trace.hash
}

// Tail lists the last records, at most `limit` of them, for the report of a failure.
func (n *Network) Tail(limit int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &n.trace
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d events, trace %#016x; the last of them:\n", n.model.Name, t.count, t.hash)
	many := min(uint64(limit), uint64(len(t.last)))
	for i := t.count - many; i < t.count; i++ {
		r := t.last[i%maxRecords]
		fmt.Fprintf(&out, "%10d ns  end %d %s %d", r.at, r.from, kindText[r.kind], r.a)
		if r.to >= 0 {
			fmt.Fprintf(&out, ", end %d", r.to)
		}
		fmt.Fprintf(&out, " (%d)\n", r.b)
	}
	return out.String()
}

// note adds a record to the trace: what has happened between two endpoints, either of which may be
// nil, with two numbers a and b whose meaning depends on the kind k.
func (n *Network) note(k recordKind, from, to *endpoint, a, b uint64) {
	r := record{at: n.now, kind: k, from: -1, to: -1, a: a, b: b}
	if from != nil {
		r.from = from.id
	}
	if to != nil {
		r.to = to.id
	}
	n.trace.add(r)
}
