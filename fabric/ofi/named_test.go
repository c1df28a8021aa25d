package ofi

import (
	"bytes"
	"testing"

	"libshmem/fabric"
)

// The addresses of shm are names with the number of a process and of an endpoint in them, so
// that two of them may differ in length.
func TestNamesOfAnyLength(t *testing.T) {
	p, err := Open(fabric.Config{Provider: "shm", Tokens: 8, MaxRecv: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	own := p.Addr()
	if p.Caps().Provider != "shm" || own[len(own)-1] != 0 {
		t.Fatalf("the address of %s is %q, which is no name", p.Caps().Provider, own)
	}
	// Of an endpoint with a digit more, which need not be there before it is used.
	longer := append(bytes.Clone(own[:len(own)-1]), '0', 0)
	if err := p.Connect([][]byte{own, longer}); err != nil {
		t.Errorf("%q to %q: %v", own, longer, err)
	}
}

// An address without the end of a name is refused.
func TestNameWithoutEnd(t *testing.T) {
	p, err := Open(fabric.Config{Provider: "shm", Tokens: 8, MaxRecv: 4})
	if err != nil {
		t.Fatal(err)
	}
	own := p.Addr()
	if err := p.Connect([][]byte{own, own[:len(own)-1]}); err == nil {
		t.Error("a name without its end was taken")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
