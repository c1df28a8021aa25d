package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// tokenTable has the operation records of an endpoint by token. Tokens below layout.Receives are
// those of receive buffers and have no operation. The caller holds the engine's lock.
type tokenTable struct {
	Records  []record
	Free     []fabric.Token
	Bytes    uint64 // bytes of one-sided operations under way
	MaxBytes int64  // bound for these bytes
}

// newTokenTable returns a table whose tokens are all free, the lowest one next. Tokens below
// Receives are those of receive buffers. limit bounds the bytes of all operations under way.
func newTokenTable(limit int64) tokenTable {
	t := tokenTable{Records: make([]record, layout.Tokens), Free: make([]fabric.Token, 0, layout.Tokens), MaxBytes: limit}
	for token := fabric.Token(layout.Tokens - 1); token >= layout.Receives; token-- {
		t.Free = append(t.Free, token)
	}
	return t
}

// Allocate returns a free token for an operation on a PE, and its record, or nil if all tokens are
// in use. It sets Use, PE and Uses and clears Then, Flush and Request; Bytes and Registered are
// zero. The other fields have values of an earlier operation: the caller sets those that it needs.
func (t *tokenTable) Allocate(u use, p *layout.Peer, pe libshmem.PE) (fabric.Token, *record) {
	last := len(t.Free) - 1
	if last < 0 {
		return 0, nil
	}
	token := t.Free[last]
	t.Free = t.Free[:last]
	r := &t.Records[token]
	p.AddToken()
	r.Use, r.PE, r.Uses = u, pe, r.Uses+1
	r.Then, r.Flush, r.Request = false, false, nil
	return token, r
}

// Release frees a token, and subtracts the bytes that CountBytes added for it. p is the PE of its
// operation.
func (t *tokenTable) Release(token fabric.Token, p *layout.Peer) {
	r := &t.Records[token]
	r.Use = 0
	p.RemoveToken(r.Bytes)
	t.Bytes -= r.Bytes
	r.Bytes = 0
	t.Free = append(t.Free, token)
}

// CountBytes counts n bytes as under way until the token of r is released.
func (t *tokenTable) CountBytes(r *record, p *layout.Peer, n uint64) {
	r.Bytes = n
	t.Bytes += n
	p.AddBytes(n)
}

// HasRoom reports whether a caller may have a token for an operation of n bytes on a PE. Operations
// on one PE may use a third of the tokens and of the bytes that are still free, so that a PE that
// hangs does not hold up the others. A PE without an operation under way may have one as long as a
// token is left that is not reserved (credit.go).
func (t *tokenTable) HasRoom(p *layout.Peer, n uint64) bool {
	free := len(t.Free) - reservedTokens
	return !(free <= 0 || 3*int(p.Tokens) >= free && p.Tokens > 0 ||
		p.Bytes != 0 && 3*int64(p.Bytes+n) > t.MaxBytes-int64(t.Bytes))
}

// Full reports whether no token is left for callers: the last reservedTokens are for the engine's
// own messages.
func (t *tokenTable) Full() bool { return len(t.Free) <= reservedTokens }

// RequestID returns the number that the reply to a request has to carry: the token, and the number
// of its allocations, so that a repeated reply does not complete the next operation of that token.
func (t *tokenTable) RequestID(token fabric.Token) uint32 {
	return uint32(t.Records[token].Uses)<<16 | uint32(token)
}
