package channel

import (
	"fmt"
	"math"
	"math/bits"

	"libshmem/queue"
)

// amo is what an atomic operation of a request is in a ring.
type amo struct {
	kind       uint8
	increments bool // the operand is 1
	adds       bool // its result depends on the operand's type
}

// amos has the atomic operations by their numbers in requests. NVSHMEM 3.4 sets a signal by the
// numbers 8 and 9.
var amos = [...]amo{
	2: {kind: queue.KindAdd, increments: true, adds: true}, 3: {kind: queue.KindSet}, 4: {kind: queue.KindAdd, adds: true},
	5: {kind: queue.KindAnd}, 6: {kind: queue.KindOr}, 7: {kind: queue.KindXor},
	8: {kind: queue.KindSet}, 9: {kind: queue.KindSet}, 10: {kind: queue.KindAdd},
	12: {kind: queue.KindFetch}, 13: {kind: queue.KindFetchAdd, increments: true, adds: true}, 14: {kind: queue.KindFetchAdd, adds: true},
	15: {kind: queue.KindFetchAnd}, 16: {kind: queue.KindFetchOr}, 17: {kind: queue.KindFetchXor},
	18: {kind: queue.KindSwap}, 19: {kind: queue.KindCSwap},
}

// ofFloat is set in the number of an atomic operation on floating-point numbers, from 3.7 on.
const ofFloat = 0x80

// amoOf returns the atomic operation of a request, or that of its signal.
func amoOf(r *request) (amo, error) {
	number := r.amo &^ ofFloat
	if int(number) >= len(amos) || amos[number].kind == 0 {
		return amo{}, fmt.Errorf("%v with number %d for PE %d does not exist", r.op, r.amo, r.pe)
	}
	a := amos[number]
	if a.adds && r.amo&ofFloat != 0 {
		return amo{}, fmt.Errorf("atomic addition to floating-point numbers of PE %d, which has no request in this library (add integers, or "+
			"compile the program's device code against the headers of this library)", r.pe)
	}
	return a, nil
}

// pushAMO pushes an atomic operation. It returns false if a kernel waits for its result and no
// reply is free.
func (c *Channel) pushAMO(r *request) (bool, error) {
	a, err := amoOf(r)
	if err != nil {
		return false, err
	}
	if r.size != 4 && r.size != 8 {
		return false, fmt.Errorf("atomic operation on %d bytes of PE %d: over the network they have 4 or 8", r.size, r.pe)
	}
	op := queue.Op{Code: queue.CodeAMO, Kind: a.kind, Width: uint8(bits.TrailingZeros32(r.size)), PE: r.pe, Dest: c.heap + r.offset, Value: r.value}
	if a.increments {
		op.Value = 1
	}
	switch {
	case a.kind >= queue.KindSwap: // from KindSwap on, operations return the old value
		if len(c.free) == 0 {
			return false, nil
		}
		last := len(c.free) - 1
		op.Code, op.Value2, op.Want, op.Reply = queue.CodeAMOWide, r.compare, 1, c.free[last]
		c.free = c.free[:last]
		c.waiting = append(c.waiting, fetch{r.element, c.ring.Turn(op.Reply), op.Reply})
	case r.size == 8 && (int64(op.Value) > math.MaxInt32 || int64(op.Value) < math.MinInt32): // CodeAMO has 32 bits for it
		op.Code = queue.CodeAMOWide
	}
	c.push(&op)
	return true, nil
}

// giveResults hands the results that have arrived to the kernels that wait for them. The result of
// an operation that failed, which the proxy has reported, is 0. It reports whether it did anything.
func (c *Channel) giveResults() (worked bool) {
	for i := 0; i < len(c.waiting); {
		f := &c.waiting[i]
		value, status, ok := c.ring.Replied(f.reply, f.turn)
		if !ok {
			i++
			continue
		}
		if status != 0 {
			value = 0
		}
		c.memory.give(f.element, value)
		c.free = append(c.free, f.reply)
		last := len(c.waiting) - 1
		c.waiting[i] = c.waiting[last]
		c.waiting, worked = c.waiting[:last], true
	}
	return worked
}
