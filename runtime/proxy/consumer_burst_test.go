package proxy

import (
	"encoding/binary"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/layout"
)

// TestRingBurst pushes rows of small operations before the proxy looks. Those for one PE share
// messages, also where the PE has GPU memory, and have their effect. Those for two PEs in turn
// share none, and where the provider has C functions, C posts them.
func TestRingBurst(t *testing.T) {
	models := map[string]*gpus{"": nil}
	for _, name := range []string{"atomics", "alone", "nic"} {
		g := gpuModels[name]
		models[" "+name] = &g
	}
	for _, m := range both(modes[1]) {
		for name, g := range models {
			m.gpus = g
			t.Run(m.name+name, func(t *testing.T) {
				j := newRingJob(t, m, 1, 3, 1, 1<<16)
				together, merged := j.burst(1, 1)
				if together > 3 || merged < 24 {
					t.Errorf("a row for one PE: %d messages, %d operations share some", together, merged)
				}
				if apart, merged := j.burst(2, 2); apart < 24 || merged > 0 {
					t.Errorf("a row for two PEs in turn: %d messages, %d operations share some", apart, merged)
				}
				if j.inLoop = 0; m.native {
					if j.burst(2, 3); j.inLoop == 0 {
						t.Error("C posted nothing of the next row for two PEs")
					}
				}
				j.clean()
			})
		}
	}
}

// burst lets PE 0 push 24 operations, for PE 1 or for some PEs in turn, serves them as a proxy
// does, and checks the heaps. It returns how many messages of them left, and how many operations
// shared one.
func (j *ringJob) burst(pes int, value uint64) (messages, merged uint64) {
	j.t.Helper()
	const n = 24
	value <<= 32
	count := func() (messages, merged uint64) {
		for pe := 1; pe <= pes; pe++ {
			p := &j.pes[0].ops.Peers[pe]
			messages += uint64(p.Sent)
			merged += p.Count[layout.Merged]
		}
		return messages, merged
	}
	sent, shared := count()
	for i := range n {
		op := queue.Op{Code: queue.CodePWide, PE: uint32(1 + i%pes), Dest: at(64 * i), Value: value + uint64(i)}
		if i%2 == 1 {
			op.Code, op.Size = queue.CodePSignal, 8
			op.Kind, op.Signal, op.SignalAt = uint8(fabric.OpSet), value, at(64*i+8)
		}
		j.rigs[0][0].Push(&op)
	}
	c := j.consumers[0]
	for rig := j.rigs[0][0]; rig.Line.Tail != rig.Near.Head || c.Holds(); {
		if b, ok := j.pes[0].ops.Net.Provider.(*boxed); ok {
			if err := b.arrive(); err != nil {
				j.t.Fatal(err)
			}
		}
		a, held, err := c.RunInC(time.Hour, 0)
		if err != nil {
			j.t.Fatal(err)
		}
		if held {
			j.pes[0].Unlock()
		}
		j.inLoop += a.Taken
		c.Drain()
		for _, p := range j.pes {
			p.poll()
		}
	}
	messages, merged = count()
	j.quiet(0, 0)
	for i := range n {
		heap := j.pes[1+i%pes].heap[64*i:]
		if v := binary.NativeEndian.Uint64(heap); v != value+uint64(i) {
			j.t.Errorf("operation %d: PE %d has %#x", i, 1+i%pes, v)
		}
		if s := binary.NativeEndian.Uint64(heap[8:]); i%2 == 1 && s != value {
			j.t.Errorf("operation %d: the signal at PE %d is %#x", i, 1+i%pes, s)
		}
	}
	return messages - sent, merged - shared
}
