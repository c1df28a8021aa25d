package network

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// lockTimeout bounds how long an explanation waits for the engine's lock. A thread that blocks in
// the GPU driver may hold it for long.
const lockTimeout = 200 * time.Millisecond

// Peers is the first engine's view of other PEs.
type Peers struct{ e *proxy.Engine }

// Peers returns what the watch of other PEs needs of the network: requests, replies and states.
func (nw *Network) Peers() *Peers { return &Peers{nw.Engine} }

// PeerStatus describes the first engine's work with a PE; with always, also when nothing is
// remarkable. silent reports whether the PE has not replied to the last Probe. locked is false if
// the engine's lock could not be taken within lockTimeout.
func (p *Peers) PeerStatus(pe libshmem.PE, always bool) (text string, silent, locked bool) {
	locked = p.e.TryWithLock(lockTimeout, func() { text, silent = p.e.Report.PeerStatus(pe, always), p.e.Report.Silent(pe) })
	return text, silent, locked
}

// Probe sends requests to PEs: those in `alive` reply that they live, and those in `doing` also
// reply with what they do. It sends none if another thread has the engine's lock for longer than
// lockTimeout.
func (p *Peers) Probe(doing, alive []libshmem.PE) {
	p.e.TryWithLock(lockTimeout, func() {
		for _, pe := range doing {
			p.e.Report.Probe(pe)
			p.e.RequestActivity(pe)
		}
		for _, pe := range alive {
			p.e.Report.Probe(pe)
		}
	})
}

// Ping sends a PE a message, to find out whether the network still reaches it. sent is false if the
// provider's queue was full. locked is false if the engine's lock could not be taken within
// lockTimeout; then nothing was sent, whatever sent says.
func (p *Peers) Ping(pe libshmem.PE) (sent, locked bool) {
	st := proxy.Done
	locked = p.e.TryWithLock(lockTimeout, func() { st = p.e.Ping(pe) })
	return st == proxy.Done, locked
}

// Socket returns the address at which a PE listens, if the provider uses sockets.
func (p *Peers) Socket(pe libshmem.PE) (netip.AddrPort, bool) {
	return p.e.Report.Socket(pe)
}

// Lose makes operations of all engines on a PE fail from now on. reason says how the PE was lost.
func (nw *Network) Lose(pe libshmem.PE, reason string) {
	if nw == nil {
		return
	}
	for _, e := range nw.Engines {
		e.WithLock(func() { e.Lose(pe, reason) })
	}
}

// Loans passes loans, memory of the program that is part of the heap for a while, on to the GPU
// stages of all engines.
type Loans struct {
	engines []*proxy.Engine
	stages  []*gpustage.Stage
}

// Loans returns the Loans with this network's stages. A nil network has no stages.
func (nw *Network) Loans() *Loans {
	if nw == nil {
		return &Loans{}
	}
	return &Loans{nw.Engines, nw.stages}
}

// BeginLoan begins a loan in each stage: from now on parts of it may be registered.
func (l *Loans) BeginLoan(loan gpustage.Loan) {
	for i, e := range l.engines {
		e.WithLock(func() { l.stages[i].BeginLoan(loan) })
	}
}

// EndLoan ends a loan in each stage, and its registrations with NICs.
func (l *Loans) EndLoan(loan gpustage.Loan) (err error) {
	for i, e := range l.engines {
		e.WithLock(func() { err = errors.Join(err, l.stages[i].EndLoan(loan)) })
	}
	return err
}

// StatusPages returns the status page of each engine.
func (nw *Network) StatusPages() (ends []*proxy.EndpointPage) {
	if nw == nil {
		return nil
	}
	for _, e := range nw.Engines {
		e.WithLock(func() { ends = append(ends, e.Report.Show()) })
	}
	return ends
}

// CountOf returns what the engines have counted of their work with a PE.
func (nw *Network) CountOf(pe libshmem.PE) (all [layout.Counted]uint64) {
	if nw == nil {
		return all
	}
	for _, e := range nw.Engines {
		e.WithLock(func() {
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

// ForTests reports whether the provider serves only tests on a host without other users.
func (nw *Network) ForTests() bool { return fabric.ForTests(nw.Engine.Caps().Provider) }

// Warning returns the warning for a provider that serves only tests.
func (nw *Network) Warning() string {
	c := nw.Engine.Caps()
	return fmt.Sprintf("network %s on %s is %s (SHMEM_PROVIDER=tcp keeps them out)", nw.Provider(), c.Domain, fabric.SecurityWarning(c.Provider))
}

// Text describes the network for the banner: provider, NICs, how these were chosen, what other
// users of the host can do to its traffic, the path to GPU memory and the registration cache.
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
	text += nw.Place.NICChoice()
	if warning := fabric.SecurityWarning(c.Provider); warning != "" {
		text += " (" + warning + ")"
	}
	if path := nw.GPUPath(); path != "" {
		text += ", GPU memory " + path
	}
	if nw.cache != "" {
		text += ", " + nw.cache
	}
	return text
}

// GPUPath returns how the network reaches this PE's GPU memory; "" if its heap is in main memory.
// Staged bytes pass through pinned main memory (runtime/proxy/gpustage).
func (nw *Network) GPUPath() string {
	switch {
	case !nw.inGPU():
		return ""
	case nw.GPU.NICs.Path() != "":
		return "by " + nw.GPU.NICs.Path()
	case nw.Settings.GPUNet == config.GPUNetCopy:
		return "staged, and copied within hosts"
	}
	return "staged"
}
