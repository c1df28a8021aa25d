package proxy

import (
	"encoding/binary"
	"fmt"
	"testing"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/loop"
)

// TestConsumerAnswers has 1,024 operations with answers under way to many PEs at once. Some are
// posted and some wait for room, among them one for each PE that has been tried and gets of which
// pieces are posted. All are answered, with their own values.
func TestConsumerAnswers(t *testing.T) {
	const n, heap, length = queue.Replies, 1 << 14, 3000
	for _, pes := range []int{64, 256} {
		m := modes[1]
		m.name = fmt.Sprint(pes, " PEs, ", m.name)
		m.caps.MaxMessage = 1024 // a get is three pieces
		eachConsumer(t, m, func(t *testing.T, m mode) {
			stuck := true
			m.stuck = func(*work) bool { return stuck }
			j := newRingJob(t, m, 1, pes, 2, heap)
			for i, p := range j.pes {
				stamp(p.heap, byte(i))
				binary.NativeEndian.PutUint64(p.heap[8192:], uint64(i)<<32)
			}
			type claim struct {
				ring  int
				reply uint16
				turn  uint32
				pe    int
				into  []byte // of a get
			}
			claims := make([]claim, n)
			c := j.consumers[0]
			for i := range claims {
				a := &claims[i]
				a.ring, a.pe = i%2, 1+i%(pes-1)
				op := queue.Op{Code: queue.CodeAMOWide, PE: uint32(a.pe), Dest: at(8192), Kind: uint8(fabric.OpFetchAdd), Width: 3, Value: 1}
				if i/(pes-1)%2 == 1 {
					a.into = make([]byte, length)
					op = queue.Op{Code: queue.CodeGet, PE: uint32(a.pe), Dest: at(0), Local: j.address(a.into), Length: length}
				}
				rig := j.rigs[0][a.ring]
				a.reply, a.turn, _ = rig.Claim()
				op.Want, op.Reply = 1, a.reply
				var w [2 * queue.MaxSlots]uint64
				slots := uint64(op.Pack(&w))
				p := rig.Reserve(int(slots))
				for !rig.Free(p + slots) {
					if c.Drain() == 0 {
						t.Fatalf("the consumer takes no more than %d operations", i)
					}
				}
				rig.Store(p, &op)
			}
			for c.Drain() > 0 {
			}
			if taken, waited := c.Counts(); taken != n || waited == 0 {
				t.Fatalf("%d operations were taken and %d had to wait, of %d", taken, waited, n)
			}
			stuck = false
			for rounds := 0; c.Holds() || j.pes[0].ops.Table.Bytes > 0 || rounds < 100; rounds++ {
				if rounds > 10_000 {
					t.Fatal("operations still wait after many rounds")
				}
				if c.ServableInC() {
					j.inC(0)
				}
				c.Drain()
				for _, p := range j.pes {
					p.poll()
				}
			}
			olds := map[int]map[uint64]bool{}
			for i, a := range claims {
				old, status, came := j.rigs[0][a.ring].Replied(a.reply, a.turn)
				switch {
				case !came || status != 0:
					t.Fatalf("operation %d: answered %v, status %d", i, came, status)
				case a.into != nil:
					if string(a.into) != string(j.pes[a.pe].heap[:length]) {
						t.Fatalf("get %d has other bytes than PE %d", i, a.pe)
					}
				case olds[a.pe] == nil:
					olds[a.pe] = map[uint64]bool{old: true}
				default:
					olds[a.pe][old] = true
				}
			}
			for pe, seen := range olds {
				word := binary.NativeEndian.Uint64(j.pes[pe].heap[8192:])
				for v := uint64(pe) << 32; v < word; v++ {
					if !seen[v] {
						t.Fatalf("PE %d has %#x, and no operation fetched %#x", pe, word, v)
					}
				}
				if word != uint64(pe)<<32+uint64(len(seen)) {
					t.Fatalf("PE %d has %#x after %d operations", pe, word, len(seen))
				}
			}
			j.clean()
		})
	}
}

// TestConsumerRingsApart fills a ring with operations for a PE that takes none, until the consumer
// takes no more of them. The answers of another ring still come.
func TestConsumerRingsApart(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		stuck := true
		m.stuck = func(o *work) bool { return stuck && o.to == 1 }
		j := newRingJob(t, m, 1, 3, 3, 1<<16)
		defer j.clean()
		c, rig := j.consumers[0], j.rigs[0][0]
		full := func() bool {
			for range 50 {
				if rig.Free(rig.Reserve(0) + 4) {
					return false
				}
				c.Drain()
			}
			return true
		}
		into := make([]byte, 8)
		for i := 0; !full(); i++ {
			if i > 4*loop.WaitingMax {
				t.Fatal("the consumer takes any number of operations for a PE without room")
			}
			op := queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: j.address(into), Length: 8}
			if reply, _, ok := rig.Claim(); ok {
				op.Want, op.Reply = 1, reply
			}
			j.push(0, 0, op)
		}
		for ring := 1; ring <= 2; ring++ {
			for i := range uint64(3) {
				if old, status := j.ask(0, ring, queue.Op{Code: queue.CodeAMOWide, PE: 2, Dest: at(8 * ring), Kind: uint8(fabric.OpFetchAdd), Width: 3, Value: 1}); old != i || status != 0 {
					t.Errorf("ring %d: fetched %d, status %d, want %d", ring, old, status, i)
				}
			}
		}
		stuck = false
		j.quiet(0, 1)
	})
}
