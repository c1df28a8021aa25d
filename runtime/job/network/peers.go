package network

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/job/rings"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/report"
	"libshmem/runtime/topo"
)

// lockPatience bounds how long an explanation waits for the engine's lock. A thread that blocks in
// the GPU driver may hold it for long.
const lockPatience = 200 * time.Millisecond

// PeerStatus returns how far the first engine is with a PE; with asked, also when nothing is
// remarkable.
func (nw *Network) PeerStatus(pe topo.PE, asked bool) (text string, had bool) {
	had = nw.Engine.TryLocked(lockPatience, func() { text = nw.Engine.Report.PeerStatus(fabric.PE(pe), asked) })
	return text, had
}

// Probe asks PEs whether they are there, and some of them what they do.
func (nw *Network) Probe(doing, there []topo.PE) {
	nw.Engine.TryLocked(lockPatience, func() {
		for _, pe := range doing {
			nw.Engine.Report.Probe(fabric.PE(pe))
			nw.Engine.Ask(fabric.PE(pe))
		}
		for _, pe := range there {
			nw.Engine.Report.Probe(fabric.PE(pe))
		}
	})
}

// Ping asks a PE for a sign of life.
func (nw *Network) Ping(pe topo.PE) (sent, had bool) {
	st := proxy.Done
	had = nw.Engine.TryLocked(lockPatience, func() { st = nw.Engine.Ping(fabric.PE(pe)) })
	return st == proxy.Done, had
}

// Socket returns where a PE listens, if the provider has sockets.
func (nw *Network) Socket(pe topo.PE) (netip.AddrPort, bool) {
	return nw.Engine.Report.Socket(fabric.PE(pe))
}

// Lose makes all engines go on without a PE.
func (nw *Network) Lose(pe topo.PE, fate string) {
	if nw == nil {
		return
	}
	for _, e := range nw.Engines {
		e.Locked(func() { e.Lose(fabric.PE(pe), fate) })
	}
}

// BeginLoan tells the engines of a loan.
func (nw *Network) BeginLoan(loan gpustage.Loan) {
	if nw == nil {
		return
	}
	for i, e := range nw.Engines {
		e.Locked(func() { nw.stages[i].BeginLoan(loan) })
	}
}

// EndLoan makes NICs release a loan.
func (nw *Network) EndLoan(loan gpustage.Loan) (err error) {
	if nw == nil {
		return nil
	}
	for i, e := range nw.Engines {
		e.Locked(func() { err = errors.Join(err, nw.stages[i].EndLoan(loan)) })
	}
	return err
}

// Rings returns the engines with their loops, for rings.
func (nw *Network) Rings() (by []rings.By) {
	if nw == nil {
		return nil
	}
	for i, e := range nw.Engines {
		by = append(by, rings.By{Engine: e, Loop: nw.loops[i], Track: nw.tracks[i]})
	}
	return by
}

// Shown returns what each engine shows of itself.
func (nw *Network) Shown() (ends []*report.Shown) {
	if nw == nil {
		return nil
	}
	for _, e := range nw.Engines {
		e.Locked(func() { ends = append(ends, e.Report.Show()) })
	}
	return ends
}

// CountOf returns what the engines have counted of their work with a PE.
func (nw *Network) CountOf(pe int) (all [layout.Counted]uint64) {
	if nw == nil {
		return all
	}
	for _, e := range nw.Engines {
		e.Locked(func() {
			c := e.Report.CountOf(pe)
			layout.AddCounts(&all, &c)
		})
	}
	return all
}

// Provider returns the name of the provider for messages.
func (nw *Network) Provider() string {
	return providerName(nw.Settings.Provider, nw.Engine.Caps().Provider)
}

// Text returns what the banner says of the network.
func (nw *Network) Text() string {
	c := nw.Engine.Caps()
	text := fmt.Sprintf("%s on %s", nw.Provider(), c.Domain)
	if nw.fabric != "" {
		text += ", fabric " + nw.fabric
	}
	if len(nw.notes) > 0 {
		text += " (" + strings.Join(nw.notes, ", ") + ")"
	}
	if c.Rails > 1 {
		text += fmt.Sprintf(", policy %s", nw.Settings.NICPolicy)
	}
	if len(nw.Engines) > 1 {
		text += fmt.Sprintf(", %d endpoints a PE", len(nw.Engines))
	}
	text += nw.Place.Nearness()
	if path := nw.GPUPath(); path != "" {
		text += ", GPU memory " + path
	}
	if nw.cache != "" {
		text += ", " + nw.cache
	}
	return text
}
