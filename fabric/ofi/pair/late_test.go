package pair

import (
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric/ofi/handshake"
)

// late makes the peers of a world ones that join one after another.
func (w *world) late(d time.Duration) {
	for _, e := range w.ends {
		e.m.Late = d
	}
}

// ignore makes an endpoint not know any other one, until it is called with false.
func (e *end) ignore(yes bool) {
	e.m.ID = func(pe libshmem.PE) (id handshake.ID, ok bool) {
		if yes && pe != e.pe || !pe.In(len(e.w.ends)) {
			return id, false
		}
		return e.w.ends[pe].id, true
	}
}

// TestJoin has a PE connect with one that does not know it yet. It connects once the other one
// knows it, and loses it if that takes longer than Late.
func TestJoin(t *testing.T) {
	met, late := 0, 0
	each(t, 2, func(w *world) {
		const limit = 20 * time.Second
		w.late(limit)
		a, b := w.ends[0], w.ends[1]
		b.ignore(true)
		knows := time.Duration(w.rng.Int64N(int64(2 * limit)))
		a.m.Want(b.pe)
		for w.now < knows && a.losses[b.pe] == "" && w.step() {
			if a.using[b.pe] != nil {
				w.fatal("it is connected with a PE that does not know it")
			}
		}
		b.ignore(false)
		if a.losses[b.pe] != "" {
			if w.now < limit {
				w.fatal("it gives the other up after %v: %s", w.now, a.losses[b.pe])
			}
			late++
			return
		}
		known := w.now
		switch w.settle(); {
		case a.losses[b.pe] == "":
			w.joined(a, b)
			met++
		case known < limit-time.Second: // else the next request may have come too late
			w.fatal("it loses the other, which has known it since %v: %s", known, a.losses[b.pe])
		}
	})
	if met == 0 || late == 0 {
		t.Errorf("%d have met, and %d were too late", met, late)
	}
}

// TestLateLoss: where peers join one after another, one that dies is lost although nothing needs
// it.
func TestLateLoss(t *testing.T) {
	each(t, 2, func(w *world) {
		w.late(time.Hour)
		a, b := w.ends[w.rng.IntN(2)], (*end)(nil)
		b = w.ends[1-a.pe]
		w.ends[w.rng.IntN(2)].m.Want(libshmem.PE(1 - w.rng.IntN(2)))
		w.ends[0].m.Want(1)
		w.settle()
		w.kill(b)
		w.settle()
		if a.losses[b.pe] == "" {
			w.fatal("PE %d does not learn that PE %d has died", a.pe, b.pe)
		}
		if w.now > time.Minute {
			w.fatal("PE %d learns of it after %v", a.pe, w.now)
		}
	})
}

// TestRemove removes a PE at any moment of a handshake, or afterwards. Both sides give each other
// up when they next need each other, and only the one that was removed reports a loss.
func TestRemove(t *testing.T) {
	each(t, 2, func(w *world) {
		a, b := w.ends[0], w.ends[1]
		for _, e := range w.ends {
			if w.rng.IntN(2) == 0 {
				e.m.Want(1 - e.pe)
			}
		}
		for range w.rng.IntN(12) {
			w.step()
		}
		a.m.Remove(b.pe)
		if a.losses[b.pe] != "" {
			w.fatal("it reports the loss of a PE that it removes")
		}
		for range 2 {
			if b.using[a.pe] == nil && b.losses[a.pe] == "" {
				b.m.Want(a.pe)
			}
			w.settle()
		}
		if b.losses[a.pe] == "" || b.using[a.pe] != nil {
			w.fatal("the PE that was removed waits, or uses a connection")
		}
		if n := w.open(); n > 0 {
			w.fatal("%d links are open", n)
		}
	})
}
