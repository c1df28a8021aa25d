package channel

import "fmt"

// operation is the operation of a request. A code that is greater by ofQueue has the same operation
// on a queue pair.
type operation uint8

// The operations.
const (
	opPut       operation = 1
	opP         operation = 2
	opPutSignal operation = 3
	opGet       operation = 4
	opG         operation = 5
	opFence     operation = 6
	opAMO       operation = 7
	opQuiet     operation = 8
	opRegionEnd operation = 9
	ofQueue               = 100
)

// entriesOf has the number of entries of each operation that is served; 0: it is not served. A
// quiet, and a fence of queue pairs, have an entry more for each pair.
var entriesOf = [...]uint8{opPut: 4, opP: 3, opPutSignal: 6, opGet: 4, opG: 4, opFence: 1, opAMO: 5, opQuiet: 1, opRegionEnd: 0}

var operationNames = [...]string{
	opPut: "put", opP: "p", opPutSignal: "put_signal", opGet: "get", opG: "g", opFence: "fence", opAMO: "atomic operation", opQuiet: "quiet",
	opRegionEnd: "batch region",
}

// String names the operation.
func (o operation) String() string {
	if int(o) < len(operationNames) && operationNames[o] != "" {
		return operationNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// entrySize is the bytes of an entry.
const entrySize = 8

// mostPairs is the largest number of queue pairs of a quiet or fence that is accepted: the requests
// have room for several such.
const mostPairs = requestBytes / entrySize / 4

// request is a decoded request. Members that its operation does not have mean nothing.
type request struct {
	op       operation
	pe       uint32
	offset   uint64 // in the target's user heap
	local    uint64 // address of the bytes at the caller, for kernels
	length   uint64 // bytes there
	value    uint64 // an element, an operand, or a signal
	compare  uint64 // the comparand
	size     uint32 // bytes of the element
	amo      uint8  // which atomic operation, or that of the signal
	signalAt uint64 // offset of the signal in the target's user heap
	element  uint64 // number of the element for the result
}

// read decodes the request at a position. It returns the bytes that the request takes, or 0 if a
// part of it is not stored yet, and an error if there is no such request. doc.go has the fields of
// the entries, the highest bits first. The lowest byte of an entry has its flag, so the lowest byte
// of a value that fills an entry is in another one.
func (m Memory) read(position uint64, r *request) (n uint64, err error) {
	base, stored := m.entry(position)
	if !stored {
		return 0, nil
	}
	code := operation(base >> 16)
	pair := code > ofQueue
	if pair {
		code -= ofQueue
	}
	if int(code) >= len(entriesOf) || entriesOf[code] == 0 || code == opQuiet && !pair {
		return 0, fmt.Errorf("%v at position %d of the proxy channel is not served (docs/start/from-nvshmem.md has what is)", operation(base>>16), position)
	}
	count := uint64(entriesOf[code])
	switch {
	case pair && (code == opP || code == opAMO):
		count++
	case pair && (code == opQuiet || code == opFence):
		pairs := base >> 32
		if pairs > mostPairs {
			return 0, fmt.Errorf("%v of %d queue pairs at position %d of the proxy channel, where at most %d are served", code, pairs, position, mostPairs)
		}
		count += pairs
	}
	var w [6]uint64
	for i := range count {
		v, stored := m.entry(position + i*entrySize)
		if !stored {
			return 0, nil
		}
		if i < uint64(len(w)) {
			w[i] = v
		}
	}
	*r = request{op: code, offset: base >> 24}
	switch code {
	case opPut, opGet, opG, opPutSignal:
		r.local = w[1]&^0xff | w[2]>>8&0xff
		r.length, r.pe = w[2]>>16, uint32(w[3]>>16&0xffff)
		r.signalAt, r.amo = w[4]>>24, uint8(w[4]>>16)
		r.value = w[5]&^0xff | w[4]>>8&0xff
	case opP, opAMO:
		r.value = w[2]&^0xffffffff | w[1]>>32
		r.pe, r.size = uint32(w[1]>>16&0xffff), uint32(w[2]>>16&0xffff)
		r.amo = uint8(w[1] >> 8)
		r.compare = w[3]&^0xff | w[2]>>8&0xff
		r.element = w[4] >> 8
	}
	return count * entrySize, nil
}
