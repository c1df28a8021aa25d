package stub

import (
	"strings"
	"testing"
	"unsafe"

	"libshmem/fabric"
)

// A broken NIC reports that the operation is invalid, with a reason of its own: the error is that
// of the NIC, so that rails send by another one (R15f).
func TestSick(t *testing.T) {
	const size, input = 4096, 5
	Set(t, "sick=1")
	p := open(t, fabric.Config{GPU: true})
	b := make([]byte, 2*size)
	r, err := p.Register(unsafe.Pointer(&b[0]), 2*size)
	if err == nil {
		err = p.Connect([][]byte{p.Addr()})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(&fabric.RMA{Local: r.Base, Len: size, Desc: r.Desc, Remote: uint64(uintptr(r.Base)) + size, Key: r.Key, Token: 1}); err != nil {
		t.Fatal(err)
	}
	var c [1]fabric.Completion
	for n := 0; n == 0; {
		if n, err = p.Poll(c[:]); err != nil {
			t.Fatal(err)
		}
	}
	if text := p.ErrorText(&c[0]); c[0].Err != input || !strings.Contains(text, "Internal queue pair error (local), 2)") {
		t.Errorf("error %d, %s", c[0].Err, text)
	}
}
