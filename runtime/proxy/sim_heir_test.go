package proxy

import (
	"bytes"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// TestSimHeir lets a process of another job take the address of a PE that died, while the others do
// not know of the death and go on to write, send and count there. None of that reaches the process,
// and none of it ends its job.
func TestSimHeir(t *testing.T) {
	mem := &memories{}
	met := uint64(0)
	for _, model := range []sim.Model{sim.TCP(), sim.Verbs(), sim.EFA(), sim.EFADirect()} {
		model.Reconnects = true // at that address, whatever process has it
		for seed := range uint64(25) {
			l := &losing{world: newWorld(t, sockets(model, seed), seed, lossPEs, 1<<16, mem), requests: map[*Request]libshmem.PE{}, fill: 0xff}
			met += l.inherit()
			if t.Failed() {
				return
			}
		}
	}
	if met == 0 {
		t.Error("no message came to an heir: none was refused")
	}
}

// inherit returns how many messages the heir refused.
func (l *losing) inherit() uint64 {
	for _, p := range l.pes {
		p.OnLost(func(libshmem.PE, error) {})
	}
	ask := func(rounds int) {
		for range rounds {
			for _, p := range l.pes {
				if !p.dead {
					l.ask(p, dying)
				}
			}
			l.poll(l.pes[l.rng.IntN(lossPEs)])
		}
	}
	// Where a connection ends, that tells of the death. Those that had none call the heir.
	strange := l.seed%4 == 0
	if !strange {
		ask(20)
	}
	if l.seed%2 == 0 { // nothing is under way that would show the death
		for _, p := range l.pes {
			l.quiet(p)
		}
	}
	l.net.Kill(dying)
	l.pes[dying].dead = true

	prov, err := l.net.Open(dying, fabric.Config{Tokens: layout.Tokens, MaxRecv: layout.Receives})
	if err != nil {
		l.t.Fatal(err)
	}
	heir := &proc{me: dying, prov: prov, memory: make([]byte, simInternal+1<<16)}
	segment := mem.Segment{Base: unsafe.Pointer(&heir.memory[0]), Internal: simInternal, Size: uint64(len(heir.memory))}
	heir.Engine, err = New(prov, dying, lossPEs, segment,
		wake.Words{Lock: &heir.words[0], Pollers: &heir.words[1], Napping: &heir.words[2], Sleepers: &heir.words[3], Wakes: &heir.words[4]},
		func(err error) { l.fail("the heir: fatal: %v", err) })
	if err != nil {
		l.t.Fatal(err)
	}
	// Its job has as many PEs, at the same addresses, and a token of its own.
	ends := make([]Endpoint, lossPEs)
	for i, p := range l.pes {
		if i == dying {
			ends[i] = heir.Endpoint()
		} else {
			ends[i] = p.Endpoint()
		}
		ends[i].Job = 4711
	}
	if !bytes.Equal(ends[dying].Addr, l.pes[dying].addr) {
		l.fail("the heir has another address")
	}
	if err := heir.Connect(ends); err != nil {
		l.t.Fatal(err)
	}
	for round := range 40 {
		switch {
		case !strange:
			ask(1)
		case round == 0:
			for _, p := range l.pes {
				if !p.dead {
					p.Put(dying, 0, unsafe.Pointer(&[8]byte{l.fill}), 8, nil)
				}
			}
		}
		if _, err := heir.Poll(); err != nil {
			l.fail("the heir: %v", err)
		}
	}
	for range 3000 {
		l.poll(l.pes[l.rng.IntN(lossPEs)])
		if _, err := heir.Poll(); err != nil {
			l.fail("the heir: %v", err)
		}
	}
	for i, b := range heir.memory {
		if b != 0 {
			l.fail("byte %d of the heir has become %#x", i, b)
			break
		}
	}
	refused := heir.Report.Refused()
	for _, p := range l.pes {
		_ = p.Close() // with operations under way
	}
	_ = heir.Close()
	return refused
}
