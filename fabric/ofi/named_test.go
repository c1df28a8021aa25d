package ofi

import (
	"testing"

	"libshmem/fabric"
)

// The addresses of shm are names with the number of a process and of an endpoint in them, so
// that two of them may differ in length: the tenth endpoint of a process is one that does.
func TestNamesOfAnyLength(t *testing.T) {
	offers, err := List("", Wish{})
	if err != nil {
		t.Fatal(err)
	}
	provider := ""
	for _, o := range offers {
		if o.Provider == "shm" {
			provider = o.Provider
		}
	}
	if provider == "" {
		t.Fatal("libfabric has no provider shm")
	}
	var first fabric.Provider
	var addrs [][]byte
	for i := 0; i < 120; i++ {
		p, err := Open(fabric.Config{Provider: provider, Tokens: 8, MaxRecv: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		if i == 0 {
			first = p
			addrs = append(addrs, p.Addr())
		} else if len(p.Addr()) != len(addrs[0]) {
			addrs = append(addrs, p.Addr())
			break
		}
	}
	if len(addrs) < 2 {
		t.Fatalf("all names are as long as %q", addrs[0])
	}
	if err := first.Connect(addrs); err != nil {
		t.Errorf("%q to %q: %v", addrs[0], addrs[1], err)
	}
}
