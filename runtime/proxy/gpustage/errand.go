package gpustage

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
)

// runs notes what the next call of the driver is for; pe means nothing where the call is for no
// PE. It comes before each call: while the driver holds a call, the caller has the engine's lock,
// and reports can only read what was noted.
func (s *Stage) runs(w backlog.Call, pe fabric.PE) {
	s.errand.Store(uint64(w)<<32 | uint64(uint32(pe)))
}

// Errand is what the engine asked the driver for last, to continue a sentence about a
// call of the driver; "" where it has asked for nothing. Any thread may ask, and
// needs no lock for it.
func (s *Stage) Errand() string {
	return backlog.CallText(s.errand.Load())
}

func (w way) errand() backlog.Call {
	switch w {
	case wayServe:
		return backlog.CallServe
	case wayFrom:
		return backlog.CallGet
	}
	return backlog.CallPut
}

func (p *pull) errand() backlog.Call {
	if p.get != 0 {
		return backlog.CallGet
	}
	return backlog.CallCame
}
