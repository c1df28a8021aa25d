package network

import "libshmem/runtime/proxy/layout"

// Eager is what eager transfers of the host ask of the network.
type Eager struct {
	Tile     int    // the largest tile that a put keeps: 4096, 128 or 0
	Message  int    // the most bytes of a put that is a message: the target's processor places its bytes, in no order
	Notified uint64 // the most bytes of a write that carries a notification; 0: none does
}

// Eager returns it. With a GPU it is nothing: bytes may be staged, and notifications are messages.
func (nw *Network) Eager() Eager {
	e := Eager{Message: layout.MaxPayload}
	if nw.GPU == nil {
		c := nw.Engine.Caps()
		e.Tile = c.Tile(nw.Settings.Ordered.Bytes())
		if nw.Engine.WriteWindow() > 0 { // else writes have no numbers
			e.Notified = c.Notified()
		}
	}
	return e
}

// Ordered reports whether a signal of the host comes behind all puts before it on its context. The
// signal of a put is a message, also where its bytes are a write. Bytes of GPU memory may be staged,
// here or at the target, and then they arrive when they have been copied.
func (nw *Network) Ordered() bool {
	return nw.stages[0] == nil && nw.Engine.Caps().SendAfterWrite
}
