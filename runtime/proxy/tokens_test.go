package proxy

import (
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// TestTable gives out every token once, and takes them back with the bytes that were counted.
func TestTable(t *testing.T) {
	table := newTokenTable(maxBytes)
	var p layout.Peer
	seen := map[fabric.Token]bool{}
	for {
		token, r := table.Allocate(useWrite, &p, 3)
		if r == nil {
			break
		}
		if seen[token] || token < layout.Receives || r.PE != 3 || r.Use != useWrite {
			t.Fatalf("token %d, again %v, with %+v", token, seen[token], *r)
		}
		seen[token] = true
		table.CountBytes(r, &p, 10)
	}
	if n := layout.Tokens - layout.Receives; len(seen) != n || int(p.Tokens) != n || table.Bytes != uint64(10*n) || !table.Full() {
		t.Errorf("%d tokens, %d of the PE, %d bytes", len(seen), p.Tokens, table.Bytes)
	}
	for token := range seen {
		table.Release(token, &p)
	}
	if p.Tokens != 0 || p.Bytes != 0 || table.Bytes != 0 || p.Count[layout.MostUnderWay] != uint64(len(seen)) || table.Full() {
		t.Errorf("%d tokens and %d bytes are left of %d", p.Tokens, table.Bytes, p.Count[layout.MostUnderWay])
	}
}

// TestRequestID distinguishes the uses of one token.
func TestRequestID(t *testing.T) {
	table := newTokenTable(maxBytes)
	var p layout.Peer
	token, _ := table.Allocate(useReply, &p, 0)
	first := table.RequestID(token)
	table.Release(token, &p)
	again, _ := table.Allocate(useReply, &p, 0)
	if again != token || table.RequestID(again) == first || fabric.Token(first&0xffff) != token {
		t.Errorf("token %d and then %d: questions %#x and %#x", token, again, first, table.RequestID(again))
	}
}

// TestRoom leaves room for other PEs: a PE alone gets a quarter, and each stuck PE leaves three
// quarters of what it found.
func TestRoom(t *testing.T) {
	table := newTokenTable(maxBytes)
	peers := make([]layout.Peer, 40)
	left := layout.Tokens - layout.Receives - reservedTokens
	for pe := range peers {
		n := 0
		for table.HasRoom(&peers[pe], 1) {
			_, r := table.Allocate(useWrite, &peers[pe], libshmem.PE(pe))
			table.CountBytes(r, &peers[pe], 1)
			n++
		}
		if want := (left + 3) / 4; n > want || left > 0 && n < max(1, want-1) {
			t.Errorf("PE %d has %d of %d", pe, n, left)
		}
		left -= n
	}
	if !table.Full() {
		t.Errorf("%d PEs that are stuck leave %d tokens to callers", len(peers), len(table.Free)-reservedTokens)
	}
}

// TestRoomOfBytes lets one operation of any size pass, and the rest only within the bound.
func TestRoomOfBytes(t *testing.T) {
	table := newTokenTable(1000)
	var p, other layout.Peer
	if !table.HasRoom(&p, 1<<40) {
		t.Error("an operation that is larger than all would never pass")
	}
	_, r := table.Allocate(useRead, &p, 0)
	table.CountBytes(r, &p, 250)
	if table.HasRoom(&p, 100) || !table.HasRoom(&other, 100) {
		t.Error("a PE has more than its part, or another has none")
	}
}

// TestUses has a name for each use.
func TestUses(t *testing.T) {
	for u := useSend; u <= useDeparts; u++ {
		if u.String() == "" || u.String() == use(0).String() {
			t.Errorf("use %d is %q", u, u)
		}
	}
}
