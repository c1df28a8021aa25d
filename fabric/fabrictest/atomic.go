package fabrictest

import (
	"encoding/binary"
	"testing"

	"libshmem"
	"libshmem/fabric"
)

// withAtomics opens n endpoints that may post atomic operations. It returns nil where the provider
// has none.
func withAtomics(t *testing.T, s *suite, n int) []*endpoint {
	t.Helper()
	all := s.with(fabric.Config{Atomics: true}).endpoints(t, n)
	if c := all[0].caps; c.Atomics == 0 {
		t.Logf("%s has no atomic operations", c.Provider)
		return nil
	}
	return all
}

// amo returns an atomic operation on the word at an offset in target's memory. Its result goes to a
// word of e's memory that belongs to the token.
func (e *endpoint) amo(to libshmem.PE, target *endpoint, op fabric.Op, width, remote int, operand uint64, tok fabric.Token) fabric.AMO {
	return fabric.AMO{
		PE: to, Op: op, Width: width, Operand: operand, Remote: target.remote(remote), Key: target.region.Key,
		Result: e.at(atSource + 8*int(tok)), Desc: e.region.Desc, Token: tok,
	}
}

// word reads a word of width bytes, 4 or 8.
func word(b []byte, width int) uint64 {
	if width == 4 {
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// after returns the value of a word after an atomic operation on it; old is the value before.
func after(op fabric.Op, old, operand, compare uint64) uint64 {
	switch op {
	case fabric.OpSet, fabric.OpSwap:
		return operand
	case fabric.OpAdd, fabric.OpFetchAdd:
		return old + operand
	case fabric.OpAnd, fabric.OpFetchAnd:
		return old & operand
	case fabric.OpOr, fabric.OpFetchOr:
		return old | operand
	case fabric.OpXor, fabric.OpFetchXor:
		return old ^ operand
	case fabric.OpCompareSwap:
		if old == compare {
			return operand
		}
	}
	return old
}

// atomics tests that each atomic operation changes its word as its name says, returns the old value
// if it is a fetching one, and does not change the bytes around the word.
func atomics(t *testing.T, s *suite) {
	all := withAtomics(t, s, 2)
	if all == nil {
		return
	}
	a, b := all[0], all[1]
	ops := 0
	for _, width := range []int{4, 8} {
		mask := ^uint64(0) >> (64 - 8*width)
		for op := fabric.OpSet; op <= fabric.OpFetchXor; op++ {
			if !a.caps.Atomics.Has(op, width) {
				continue
			}
			ops++
			for _, same := range []bool{false, true} { // whether compare-and-swap compares with the word's present value
				const at, old, operand = 64, 0xf0f1_f2f3_8485_8687, 0x7172_7374_9596_9798
				for i := range b.mem[:128] {
					b.mem[i] = 0xee
				}
				binary.NativeEndian.PutUint64(b.mem[at:], 0xeeee_eeee_eeee_eeee)
				if width == 4 {
					binary.NativeEndian.PutUint32(b.mem[at:], old&0xffff_ffff)
				} else {
					binary.NativeEndian.PutUint64(b.mem[at:], old)
				}
				o := a.amo(1, b, op, width, at, operand, firstOther)
				o.Compare = old ^ 1
				if same {
					o.Compare = old
				}
				postRetrying(t, all, "atomic operation", func() error { return a.prov.(fabric.Atomics).Atomic(&o) })
				a.waitDone(t, all, firstOther, fabric.KindAtomic)
				want := after(op, old, operand, o.Compare) & mask
				until(t, all, "atomic operation", func() bool { return word(b.mem[at:], width) == want })
				if got := word(a.mem[atSource+8*firstOther:], width); op.Fetches() && got != old&mask {
					t.Errorf("operation %d on %d bytes fetched %#x, want %#x", op, width, got, old&mask)
				}
				for i, v := range b.mem[:128] {
					if (i < at || i >= at+width) && v != 0xee {
						t.Fatalf("operation %d on %d bytes changed the byte at %d from it", op, width, i-at)
					}
				}
			}
		}
	}
	t.Logf("%d operations", ops)
}

// atomicSums tests that the additions of several PEs to one word add up, and that no value is
// fetched twice.
func atomicSums(t *testing.T, s *suite) {
	const adders, each = 3, 300
	all := withAtomics(t, s, adders+1)
	if all == nil || !all[0].caps.Atomics.Has(fabric.OpFetchAdd, 8) {
		return
	}
	target := all[adders]
	var sent, ended [adders]int
	var free [adders]pool
	for me := range free {
		free[me] = newPool(64)
	}
	seen := [adders * each]bool{}
	until(t, all, "sum", func() bool {
		finished := 0
		for me, a := range all[:adders] {
			for sent[me] < each && len(free[me]) > 0 {
				o := a.amo(adders, target, fabric.OpFetchAdd, 8, 0, 1, free[me].next())
				if err := a.prov.(fabric.Atomics).Atomic(&o); err == fabric.ErrAgain {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				free[me].take()
				sent[me]++
			}
			for _, c := range a.comps {
				if c.Err != 0 || c.Kind != fabric.KindAtomic {
					t.Fatalf("PE %d: %+v, %s", me, c, a.prov.ErrorText(&c))
				}
				v := word(a.mem[atSource+8*int(c.Token):], 8)
				if v >= uint64(len(seen)) || seen[v] {
					t.Fatalf("PE %d fetched %d, which was fetched before or never was", me, v)
				}
				seen[v] = true
				free[me] = append(free[me], c.Token)
			}
			ended[me] += len(a.comps)
			a.comps = a.comps[:0]
			if ended[me] == each {
				finished++
			}
		}
		return finished == adders
	})
	if got := word(target.mem, 8); got != adders*each {
		t.Errorf("the sum is %d, want %d", got, adders*each)
	}
}
