package fabrictest

import (
	"time"

	"libshmem/fabric"
)

// NIC is a fake provider, for tests of layers between an engine and its provider. It moves no
// bytes. A call of a method that it lacks panics.
type NIC struct {
	fabric.Provider
	Refuse error               // the result of each post: nil, or why it is refused
	Done   []fabric.Completion // that Poll returns
	Called func()              // called in each post and each Wait; may be nil
}

// called calls Called if the test has set it.
func (n *NIC) called() {
	if n.Called != nil {
		n.Called()
	}
}

// post calls Called and returns Refuse, for each kind of operation.
func (n *NIC) post() error {
	n.called()
	return n.Refuse
}

// Send calls Called and returns Refuse. Write, Read and Atomic do the same.
func (n *NIC) Send(*fabric.Send) error  { return n.post() }
func (n *NIC) Write(*fabric.RMA) error  { return n.post() }
func (n *NIC) Read(*fabric.RMA) error   { return n.post() }
func (n *NIC) Atomic(*fabric.AMO) error { return n.post() }

// Poll returns the next completions of Done.
func (n *NIC) Poll(c []fabric.Completion) (int, error) {
	k := copy(c, n.Done)
	n.Done = n.Done[k:]
	return k, nil
}

// Wait returns after a millisecond and reports that something has arrived. Another goroutine may
// run on the thread meanwhile.
func (n *NIC) Wait(time.Duration) (bool, error) {
	n.called()
	time.Sleep(time.Millisecond)
	return true, nil
}

// Native panics, because the layers under test must not let callers bypass them.
func (n *NIC) Native() fabric.Native { panic("asked for") }

// Close implements fabric.Provider. There is nothing to close.
func (n *NIC) Close() error { return nil }

// NICs is a NIC that lists its rails.
type NICs struct{ NIC }

// Rails returns one rail.
func (*NICs) Rails() []fabric.RailCount { return []fabric.RailCount{{NIC: "eth0"}} }
