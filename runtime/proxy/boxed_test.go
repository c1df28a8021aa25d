package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
)

// boxed is an end that C may post to as well: posts of C lie in a box until Go takes them, in
// order, and gives them to the network.
type boxed struct {
	*end
	box   *fastpathtest.Box
	comps []fabric.Completion // completions without room in the box
}

var _ fabric.Provider = (*boxed)(nil)

// provider returns the end for an engine, with C functions if the mode says so.
func (e *end) provider(seed uint64) fabric.Provider {
	m := &e.net.mode
	if !m.native {
		return e
	}
	room := 1 << 30
	if m.credits > 0 {
		room = m.credits/2 + 1
	}
	b := &boxed{end: e, box: fastpathtest.NewBox(seed*1000+uint64(e.me), room, m.again)}
	e.box = b.box
	e.net.t.Cleanup(b.box.Close)
	return b
}

// pump gives the network the posts of C; false: messages are left.
func (b *boxed) pump() bool {
	b.box.Messages(func(pe libshmem.PE, m []byte) bool {
		return b.end.Send(&fabric.Send{To: pe, Buf: unsafe.Pointer(&m[0]), Len: len(m), Inject: true}) == nil
	})
	b.box.Receives(func(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) bool {
		return b.end.Recv(buf, n, desc, t) == nil
	})
	return b.box.Unsent() == 0
}

func (b *boxed) Send(op *fabric.Send) error {
	if !b.pump() {
		return fabric.ErrAgain
	}
	return b.end.Send(op)
}

func (b *boxed) Write(op *fabric.RMA) error {
	if !b.pump() {
		return fabric.ErrAgain
	}
	return b.end.Write(op)
}

func (b *boxed) Read(op *fabric.RMA) error {
	if !b.pump() {
		return fabric.ErrAgain
	}
	return b.end.Read(op)
}

// arrive moves completions into the box, where C finds them.
func (b *boxed) arrive() error {
	b.pump()
	var comps [pollBatch]fabric.Completion
	n, err := b.end.Poll(comps[:])
	b.comps = append(b.comps, comps[:n]...)
	b.comps = append(b.comps[:0], b.comps[b.box.Complete(b.comps):]...)
	return err
}

func (b *boxed) Poll(c []fabric.Completion) (int, error) {
	if err := b.arrive(); err != nil {
		return 0, err
	}
	return b.box.Poll(c), nil
}

func (b *boxed) Ready() bool {
	b.pump()
	return b.box.Kept() > 0 || b.end.Ready()
}

func (b *boxed) Arm() bool {
	b.pump()
	return b.box.Kept() == 0 && b.end.Arm()
}

func (b *boxed) Native() fabric.Native { return b.box.Native() }

// both returns two modes: with a provider in Go only, and with one that C can use.
func both(m mode) []mode {
	native := m
	native.native = true
	native.name += " in C"
	return []mode{m, native}
}
