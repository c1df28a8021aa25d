package proxy

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/mailboxtest"
	"libshmem/tests/need"
)

var simMessages = flag.Int("sim.messages", need.Load("messages/sim"), "two-sided messages on simulated networks, all models together")

// The memory of a PE in these tests: a mailbox and a word of credit for each PE, two answers to the
// long message that it sends, the bytes of that, and those of the long message that it receives.
const (
	postRing  = 1024
	longest   = 6000
	perPE     = 2048
	answersAt = 8 * perPE
	sourceAt  = answersAt + 256
	destAt    = sourceAt + 8192
	wordAt    = destAt + 8192 // set when bytes are at destAt
	postHeap  = wordAt + 64
)

func boxAt(sender int) int      { return sender * perPE }
func creditAt(receiver int) int { return receiver*perPE + perPE - 64 }

// A correspondent is what one PE does with two-sided messages: the protocol of capi/front/send.c
// and receive.c, with its mailboxes, over the engine's calls.
type correspondent struct {
	w        *world
	p        *proc
	rng      *rand.Rand
	boxes    []*mailboxtest.Receiver
	sent     []uint64
	numbers  []uint32  // of the messages to each PE
	seen     [][]int64 // by sender and tag: the last number
	left     int       // to be sent
	received int
	long     *long // being sent
	owed     []uint64
	reading  *reading
	reads    int
	writes   int
	lossy    bool // messages may be lost with a NIC, and then the PE's calls may fail
	failed   bool
}

// A long message stays at its sender until the receiver has read it, or has asked for it.
type long struct{ to, size int }

// A reading is a long message that is being received.
type reading struct {
	from, size int
	number     uint32
	tag        int
	request    *Request
	answered   bool
}

const tags = 3

// A job in which nothing was received for more than maxIdle iterations has lost a message.
const maxIdle = 50_000

func newCorrespondent(w *world, p *proc, seed uint64, count int) *correspondent {
	n := len(w.pes)
	q := &correspondent{w: w, p: p, rng: rand.New(rand.NewPCG(seed, uint64(100+p.me))), sent: make([]uint64, n), numbers: make([]uint32, n), owed: make([]uint64, n), left: count}
	for i := range n {
		q.boxes = append(q.boxes, mailboxtest.New(p.heap[boxAt(i):], postRing))
		last := make([]int64, tags)
		for t := range last {
			last[t] = -1
		}
		q.seen = append(q.seen, last)
	}
	return q
}

// word returns a byte of a message, by its place.
func word(from, to int, number uint32, i int) byte {
	return byte(uint32(from*7+to*13+i*3) + number*5)
}

// store stores bytes at PE to, and then the word at the offset of the mark, as a message.
func (q *correspondent) store(to, offset int, bytes []byte, markAt int, mark uint64) bool {
	st := q.p.PutSignal(libshmem.PE(to), libshmem.Offset(offset), simAt(bytes), uint64(len(bytes)), libshmem.Offset(markAt), mark, fabric.OpSet, nil)
	return q.posted(st)
}

// posted reports whether an operation was taken.
func (q *correspondent) posted(st Status) bool {
	if q.failed = q.failed || st == Failed; q.failed && !q.lossy {
		q.w.fail("PE %d: %v", q.p.me, q.p.Err())
	}
	return st != Again
}

// send sends a message, if there is room, and reports whether it has done anything.
func (q *correspondent) send() bool {
	to := q.rng.IntN(len(q.w.pes))
	if q.left == 0 || to == q.p.me {
		return false
	}
	kind, size, n := mailboxtest.Whole, 8+q.rng.IntN(mailboxtest.Short(postRing)-7), 0
	if q.rng.IntN(3) > 0 {
		size = 8 + q.rng.IntN(50)
	}
	n = size
	if q.long == nil && q.rng.IntN(10) == 0 {
		kind, size, n = mailboxtest.Request, 300+q.rng.IntN(longest-300), mailboxtest.RequestBytes
	}
	mark := mailboxtest.Mark(kind, uint64(size))
	span := mailboxtest.Span(mark, postRing)
	credit := binary.NativeEndian.Uint64(q.p.heap[creditAt(to):])
	place, fits := mailboxtest.Place(q.sent[to], credit, span, postRing)
	if !fits {
		return false
	}
	number := q.numbers[to]
	record := make([]byte, mailboxtest.HeaderBytes+n)
	binary.NativeEndian.PutUint32(record[8:], number%tags)
	body := record[mailboxtest.HeaderBytes:]
	if kind == mailboxtest.Request {
		source := q.p.heap[sourceAt : sourceAt+size]
		for i := range source {
			source[i] = word(q.p.me, to, number, i)
		}
		binary.NativeEndian.PutUint64(body, uint64(number%2)) // 0: it is read, 1: it is asked for
		binary.NativeEndian.PutUint64(body[8:], uint64(number))
	} else {
		for i := range body {
			body[i] = word(q.p.me, to, number, i)
		}
		binary.NativeEndian.PutUint32(body, number)
	}
	box := boxAt(q.p.me) + place
	if !q.store(to, box+8, record[8:], box, mark) {
		return false
	}
	if kind == mailboxtest.Request {
		q.long = &long{to, size}
	}
	q.sent[to] += uint64(span)
	q.numbers[to]++
	q.left--
	return true
}

// serve does what the receiver of the long message asks for.
func (q *correspondent) serve() {
	answer := q.p.heap[answersAt:]
	switch binary.NativeEndian.Uint64(answer) {
	case 1: // clear to send
		if st := q.p.PutSignal(libshmem.PE(q.long.to), destAt, simAt(q.p.heap[sourceAt:]), uint64(q.long.size), wordAt, 1, fabric.OpSet, nil); !q.posted(st) {
			return
		}
		binary.NativeEndian.PutUint64(answer, 3)
	case 2: // finished
		binary.NativeEndian.PutUint64(answer, 0)
		q.long = nil
	}
}

// receive takes a message by a random tag from a random PE.
func (q *correspondent) receive() {
	from, tag := q.rng.IntN(len(q.w.pes)), q.rng.IntN(tags+1)-1
	m, _, damaged := q.boxes[from].Find(tag)
	if damaged {
		q.w.fail("PE %d: the mailbox of PE %d is damaged", q.p.me, from)
	}
	if m == nil {
		return
	}
	body := q.boxes[from].Bytes(m)
	if m.Kind == mailboxtest.Request {
		r := &reading{from: from, size: int(m.Size), number: uint32(binary.NativeEndian.Uint64(body[8:])), tag: m.Tag}
		if binary.NativeEndian.Uint64(body) == 0 {
			r.request = new(Request)
			st := q.p.Get(libshmem.PE(from), sourceAt, simAt(q.p.heap[destAt:]), uint64(r.size), r.request)
			if !q.posted(st) {
				return
			}
			q.reads++
		} else {
			if !q.store(from, answersAt+8, []byte{1}, answersAt, 1) {
				return
			}
			q.writes++
		}
		q.reading = r
	} else {
		q.check(from, m.Tag, binary.NativeEndian.Uint32(body), body, 4)
	}
	q.owed[from] += q.boxes[from].Take(m)
}

// finish looks whether the long message has come, and tells its sender.
func (q *correspondent) finish() {
	r := q.reading
	if r.request != nil && r.request.Done != 0 && r.request.Status != 0 {
		q.posted(Failed)
		return
	}
	there := &r.answered
	if !*there {
		word := q.p.heap[wordAt:]
		if *there = r.request != nil && r.request.Done != 0 || r.request == nil && binary.NativeEndian.Uint64(word) == 1; !*there {
			return
		}
		binary.NativeEndian.PutUint64(word, 0)
		q.check(r.from, r.tag, r.number, q.p.heap[destAt:destAt+r.size], 0)
	}
	if q.store(r.from, answersAt+8, []byte{2}, answersAt, 2) {
		q.reading = nil
	}
}

// check compares a message, and its number with those before it.
func (q *correspondent) check(from, tag int, number uint32, body []byte, skip int) {
	last := &q.seen[from][tag]
	if int64(number) != *last+tags && !(*last < 0 && int(number) == tag) {
		q.w.fail("PE %d: message %d of PE %d comes behind message %d with tag %d", q.p.me, number, from, *last, tag)
	}
	*last = int64(number)
	for i := skip; i < len(body); i++ {
		if body[i] != word(from, q.p.me, number, i) {
			q.w.fail("PE %d: byte %d of message %d of PE %d is %d", q.p.me, i, number, from, body[i])
			break
		}
	}
	q.received++
}

func (q *correspondent) step() {
	if q.reading != nil {
		q.finish()
	} else {
		q.receive()
	}
	for to, credit := range q.owed {
		if credit > 0 && q.posted(q.p.AMO(libshmem.PE(to), libshmem.Offset(creditAt(q.p.me)), fabric.OpAdd, 8, credit, 0, nil, nil)) {
			q.owed[to] = 0
		}
	}
	if q.long != nil {
		q.serve()
	}
	q.send()
}

// TestSimMessages: messages with tags are received in the order of each pair of PEs and each tag,
// each once and whole, while NICs are lost, packets come twice and overtake each other. The
// receiver never has more than its mailboxes hold. What a socket holds is gone with its NIC: there
// the loss of a NIC may end the job, and what was received until then is right.
func TestSimMessages(t *testing.T) {
	var models []sim.Model
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Worst(), sim.Verbs(), sim.TCP()} {
		models = append(models, m, sim.Rough(m))
	}
	const each = 400
	most := max(simPart.Share(*simMessages)/len(models), 2*each)
	mem := new(memories)
	for i, m := range models {
		m.NICs, m.Rails, m.Detect = 3, 3, 200*sim.Microsecond
		var lost, total, reads, writes, ended int
		for seed := simPart.Seed(); total < most && !t.Failed(); seed++ {
			n := 2 + int(seed%3)
			w := newWorld(t, m, seed+uint64(i)*1000, n, postHeap, mem)
			rng := rand.New(rand.NewPCG(seed, 13))
			w.net.Plan(faults.Fault{At: sim.Time(rng.IntN(int(sim.Millisecond))), Host: rng.IntN(n), NIC: rng.IntN(3)})
			var posts []*correspondent
			for _, p := range w.pes {
				posts = append(posts, newCorrespondent(w, p, seed, each))
				posts[p.me].lossy = m.Delivers
			}
			turns, received := 0, -1 // since when nothing was received
			w.until("all messages", func() bool {
				done, failed := 0, m.Delivers && (turns > maxIdle || w.standstill())
				turns++
				for _, q := range posts {
					q.step()
					failed = failed || q.failed
					if q.reading == nil && q.long == nil {
						done += q.received
					}
				}
				if failed {
					w.ended = true
					ended++
				}
				if done != received {
					turns, received = 0, done
				}
				return done == n*each
			})
			total += n * each
			for _, q := range posts {
				reads, writes = reads+q.reads, writes+q.writes
				if r, ok := q.p.prov.(*rail.Provider); ok {
					for _, c := range r.Rails() {
						lost += int(c.Lost)
					}
				}
			}
			w.close(mem)
		}
		t.Logf("%s: %d messages, %d long ones read and %d written, %d ways lost, %d jobs ended by that", m.Name, total, reads, writes, lost, ended)
		if reads == 0 || writes == 0 || lost+ended == 0 {
			t.Errorf("%s: %d messages were read, %d written, %d ways were lost", m.Name, reads, writes, lost)
		}
	}
}
