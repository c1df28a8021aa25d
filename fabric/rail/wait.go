package rail

import (
	"time"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// slice is how long a Wait sleeps at most where NICs have no descriptors: it is spent
// with one of them, and the others cannot end it.
const slice = 500 * time.Microsecond

// findDescriptors learns whether one sleep can wait for all NICs.
func (p *Provider) findDescriptors() {
	for _, n := range p.nics {
		s, ok := n.Provider.(fabric.Sleeper)
		if !ok || s.WaitFD() < 0 {
			p.descriptors, p.caps.WaitFD = nil, false
			return
		}
		p.descriptors = append(p.descriptors, s.WaitFD())
	}
}

// Arm is part of fabric.Provider.
func (p *Provider) Arm() bool {
	if len(p.done)+len(p.waiting)+len(p.inbox.owed) > 0 || p.inbox.arrived.n > 0 && p.inbox.posted.n > 0 {
		return false
	}
	for _, n := range p.nics {
		if !n.Arm() {
			return false
		}
	}
	return true
}

// Wait is part of fabric.Provider.
func (p *Provider) Wait(d time.Duration) (bool, error) {
	if p.descriptors == nil {
		if p.awake.Swap(false) {
			return true, nil
		}
		n := p.nics[int(p.sleeps.Add(1))%len(p.nics)]
		return n.Wait(min(d, slice))
	}
	var fds [most]unix.PollFd
	for i, fd := range p.descriptors {
		fds[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	t := unix.NsecToTimespec(int64(max(d, 0)))
	k, err := unix.Ppoll(fds[:len(p.descriptors)], &t, nil)
	if err != nil || k == 0 {
		if err == unix.EINTR {
			err = nil
		}
		return false, err
	}
	came := false
	for i := range p.descriptors {
		if fds[i].Revents == 0 {
			continue
		}
		is, err := p.nics[i].Wait(0)
		if err != nil {
			return came, err
		}
		came = came || is
	}
	return came, nil
}

// Wake is part of fabric.Provider.
func (p *Provider) Wake() {
	if p.descriptors != nil {
		p.nics[0].Wake()
		return
	}
	p.awake.Store(true)
	for _, n := range p.nics {
		n.Wake()
	}
}
