package pair

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric/ofi/handshake"
)

// world is a simulated network between Machines: connections that keep the order of what goes by
// them, and a choice among all the events that may come next.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Duration
	ends   []*end
	links  []*link
	key    handshake.Key
	said   []string // what happened, for failures
	junk   [][]byte // requests that a stranger has seen
	errors int      // one of so many calls of Connect and Accept fails; 0: none
	noise  int      // so many words to come are changed on their way
}

// link is one connection of the simulated network.
type link struct {
	from, to       *end // nil: a stranger
	fromC, toC     Conn
	request        []byte
	accepted, over bool
	down           [2]bool    // the side that asked, the other one: it is closed there
	used, ended    [2]bool    // operations may be under way; shut has come
	queue          [2][]event // to the side that asked, to the other one
}

type event struct {
	kind  string // request, answer, reject, word, shut
	data  []byte
	word  handshake.Word
	proof uint32
	pe    libshmem.PE
}

// end is one endpoint.
type end struct {
	w      *world
	pe     libshmem.PE
	id     handshake.ID
	m      *Machine
	dead   bool
	closed bool
	using  map[libshmem.PE]*link
	losses map[libshmem.PE]string
}

func newWorld(t *testing.T, n int, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), key: handshake.Key{1, 2, 3}}
	for pe := range n {
		e := &end{w: w, pe: libshmem.PE(pe), id: handshake.Random[handshake.ID](), using: map[libshmem.PE]*link{}, losses: map[libshmem.PE]string{}}
		w.ends = append(w.ends, e)
	}
	for _, e := range w.ends {
		e.m = New(Config{Key: w.key, Me: handshake.Side{PE: e.pe, ID: e.id}, ID: func(pe libshmem.PE) (id handshake.ID, ok bool) {
			if !pe.In(n) {
				return id, false
			}
			return w.ends[pe].id, true
		}}, e)
	}
	return w
}

func (w *world) note(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.said, "\n"))
}

func (w *world) fails() bool { return w.errors > 0 && w.rng.IntN(w.errors) == 0 }

// Network of an end.

func (e *end) Connect(c Conn, pe libshmem.PE, request []byte) error {
	w, to := e.w, e.w.ends[pe]
	if w.fails() {
		return errors.New("no more descriptors")
	}
	w.note("PE %d asks PE %d by connection %d", e.pe, pe, c)
	l := &link{from: e, fromC: c, to: to, request: slices.Clone(request)}
	w.links = append(w.links, l)
	w.junk = append(w.junk, l.request)
	switch {
	case to.dead || to.closed:
		l.to = nil
		l.queue[0] = append(l.queue[0], event{kind: "reject"})
	default:
		l.queue[1] = append(l.queue[1], event{kind: "request", data: l.request})
	}
	return nil
}

func (e *end) Accept(c Conn, h Handle, answer []byte) error {
	l := e.w.links[h]
	if l.over || l.accepted {
		e.w.fatal("PE %d accepts a request that is over", e.pe)
	}
	if e.w.fails() {
		e.Reject(h, nil)
		return errors.New("no more descriptors")
	}
	e.w.note("PE %d accepts link %d as connection %d", e.pe, h, c)
	l.toC, l.accepted = c, true
	if l.down[0] {
		l.queue[1] = append(l.queue[1], event{kind: "shut"})
	}
	l.queue[0] = append(l.queue[0], event{kind: "answer", data: answer})
	return nil
}

func (e *end) Reject(h Handle, answer []byte) {
	l := e.w.links[h]
	if l.over || l.accepted {
		e.w.fatal("PE %d rejects a request that is over", e.pe)
	}
	l.over = true
	l.queue[0] = append(l.queue[0], event{kind: "reject", data: answer})
}

func (e *end) side(c Conn) (*link, int) {
	for _, l := range e.w.links {
		if l.from == e && l.fromC == c {
			return l, 0
		}
		if l.to == e && l.toC == c && l.accepted {
			return l, 1
		}
	}
	return nil, 0
}

func (e *end) Drop(c Conn) {
	l, i := e.side(c)
	if l == nil {
		return // its Connect or its Accept has failed
	}
	if l.down[i] {
		e.w.fatal("PE %d drops connection %d twice", e.pe, c)
	}
	e.w.note("PE %d drops connection %d", e.pe, c)
	if l.used[i] && !l.ended[i] && !e.m.closed {
		e.w.fatal("PE %d drops connection %d, which is in use and has not ended", e.pe, c)
	}
	l.down[i], l.queue[i] = true, nil
	if !l.down[1-i] && (i == 1 || l.accepted) {
		l.queue[1-i] = append(l.queue[1-i], event{kind: "shut"})
	}
}

func (e *end) Shutdown(c Conn) {
	l, _ := e.side(c)
	e.w.note("PE %d parts connection %d", e.pe, c)
	for side := range l.queue {
		if !l.down[side] && !l.ended[side] {
			l.queue[side] = append(l.queue[side], event{kind: "shut"})
		}
	}
}

func (e *end) Use(pe libshmem.PE, c Conn) {
	if c == 0 {
		delete(e.using, pe)
		return
	}
	l, i := e.side(c)
	e.w.note("PE %d uses connection %d to PE %d", e.pe, c, pe)
	if l == nil || l.from == nil || l.to == nil || l.from.pe != pe && l.to.pe != pe || !l.accepted {
		e.w.fatal("PE %d uses connection %d, which does not lead to PE %d", e.pe, c, pe)
	}
	e.using[pe], l.used[i] = l, true
}

func (e *end) Send(c Conn, w handshake.Word, proof uint32) bool {
	if w == handshake.Confirmed && e.w.rng.IntN(4) == 0 {
		return false
	}
	if l, i := e.side(c); l != nil && !l.down[1-i] {
		l.queue[1-i] = append(l.queue[1-i], event{kind: "word", word: w, proof: proof, pe: e.pe})
	}
	return true
}

func (e *end) Lose(pe libshmem.PE, why string) {
	if _, had := e.losses[pe]; had {
		e.w.fatal("PE %d loses PE %d twice", e.pe, pe)
	}
	e.w.note("PE %d loses PE %d: %s", e.pe, pe, why)
	e.losses[pe] = why
}

// deliver takes the next event of a side of a link.
func (w *world) deliver(h int, i int) {
	l := w.links[h]
	ev := l.queue[i][0]
	// Answers come by another queue than words, which may overtake them.
	if at := slices.IndexFunc(l.queue[i], func(ev event) bool { return ev.kind == "word" }); at > 0 && ev.kind == "answer" && w.rng.IntN(2) == 0 {
		ev = l.queue[i][at]
		l.queue[i] = slices.Insert(slices.Delete(l.queue[i], at, at+1), 0, ev)
	}
	l.queue[i] = l.queue[i][1:]
	e, c := l.from, l.fromC
	if i == 1 {
		e, c = l.to, l.toC
	}
	if e == nil || e.dead || e.closed {
		return
	}
	w.note("PE %d gets %s of link %d", e.pe, ev.kind, h)
	switch ev.kind {
	case "request":
		e.m.Request(Handle(h), ev.data)
	case "answer":
		e.m.HandleReply(c, ev.data)
	case "reject":
		e.m.HandleFailure(c, ev.data, "refused")
	case "word":
		if w.noise > 0 {
			w.noise--
			ev.proof ^= 1 << w.rng.IntN(32)
		}
		e.m.HandleWord(ev.pe, ev.word, ev.proof)
	case "shut":
		l.ended[i] = true
		e.m.HandleDisconnect(c)
	}
}

// step lets one event come, and reports whether there was any.
func (w *world) step() bool {
	type place struct{ link, side int }
	var all []place
	for h, l := range w.links {
		for i := range l.queue {
			if len(l.queue[i]) > 0 {
				all = append(all, place{h, i})
			}
		}
	}
	if len(all) > 0 && w.rng.IntN(8) != 0 {
		p := all[w.rng.IntN(len(all))]
		w.deliver(p.link, p.side)
		return true
	}
	moves := false
	for _, e := range w.ends {
		moves = moves || e.m.Moving() && !e.dead && !e.closed
	}
	if len(all) == 0 && !moves {
		return false
	}
	w.now += time.Duration(w.rng.Int64N(int64(replyTimeout) / 20))
	for _, e := range w.ends {
		if !e.dead && !e.closed {
			e.m.Tick(w.now)
		}
	}
	return true
}

// settle lets events come until there are none.
func (w *world) settle() {
	for n := 0; w.step(); n++ {
		if n > 20000 {
			w.fatal("it does not end")
		}
	}
}

// breaks ends a link at both sides, with the loss of what was under way.
func (w *world) breaks(l *link) {
	w.note("link %d breaks", slices.Index(w.links, l))
	for i := range l.queue {
		l.queue[i] = nil
		if !l.down[i] && (i == 0 || l.accepted) {
			kind := "shut"
			if !l.accepted {
				kind = "reject"
			}
			l.queue[i] = append(l.queue[i], event{kind: kind})
		}
	}
	if !l.accepted {
		l.over = true
	}
}

// kill ends an endpoint without a word.
func (w *world) kill(e *end) {
	w.note("PE %d dies", e.pe)
	e.dead = true
	for _, l := range w.links {
		for i, side := range []*end{l.from, l.to} {
			if side != e || l.down[i] {
				continue
			}
			l.down[i], l.queue[i] = true, nil
			switch {
			case i == 1 && !l.accepted && !l.over:
				l.queue[0] = append(l.queue[0], event{kind: "reject"})
			case l.accepted && !l.down[1-i]:
				l.queue[1-i] = append(l.queue[1-i], event{kind: "shut"})
			}
		}
	}
}

func (w *world) close(e *end) {
	w.note("PE %d closes", e.pe)
	e.m.Close()
	e.closed = true
	for _, l := range w.links {
		if l.to == e && !l.accepted && !l.over {
			l.over, l.queue[1] = true, nil
			l.queue[0] = append(l.queue[0], event{kind: "reject"})
		}
	}
}
