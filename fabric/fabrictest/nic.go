package fabrictest

import (
	"time"

	"libshmem/fabric"
)

// NIC is a fake provider for what stands between an engine and its own. It does what its test
// says and moves no bytes. A method that is missing here panics.
type NIC struct {
	fabric.Provider
	Refuse error               // what each post returns
	Done   []fabric.Completion // what Poll finds
	Called func()              // hears of each post and each Wait; nil: nothing does
}

func (n *NIC) called() {
	if n.Called != nil {
		n.Called()
	}
}

func (n *NIC) post() error {
	n.called()
	return n.Refuse
}

// Send is a post, as the next three are.
func (n *NIC) Send(*fabric.Send) error  { return n.post() }
func (n *NIC) Write(*fabric.RMA) error  { return n.post() }
func (n *NIC) Read(*fabric.RMA) error   { return n.post() }
func (n *NIC) Atomic(*fabric.AMO) error { return n.post() }

// Poll takes what is done.
func (n *NIC) Poll(c []fabric.Completion) (int, error) {
	k := copy(c, n.Done)
	n.Done = n.Done[k:]
	return k, nil
}

// Wait ends after a millisecond, as if something had come. Another goroutine may take the thread
// meanwhile.
func (n *NIC) Wait(time.Duration) (bool, error) {
	n.called()
	time.Sleep(time.Millisecond)
	return true, nil
}

// Native must not be asked for: it goes past what stands before the NIC.
func (n *NIC) Native() fabric.Native { panic("asked for") }

// Close does nothing.
func (n *NIC) Close() error { return nil }

// NICs is a NIC that tells of its rails.
type NICs struct{ NIC }

// Rails are one.
func (*NICs) Rails() []fabric.RailCount { return []fabric.RailCount{{NIC: "eth0"}} }
