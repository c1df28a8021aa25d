package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
)

// runs notes an errand; pe means nothing where it has none. It comes before each call of the
// driver, because one that the driver holds has the engine's lock, and nobody could ask then.
func (e *Engine) runs(w errand, pe fabric.PE) {
	e.stage.errand.Store(uint64(w)<<32 | uint64(uint32(pe)))
}

// Errand is what the engine asked the driver for last, to continue a sentence about a
// call of the driver; "" where it has asked for nothing. Any thread may ask, and
// needs no lock for it.
func (e *Engine) Errand() string {
	if e.stage == nil {
		return ""
	}
	return backlog.CallText(e.stage.errand.Load())
}

func (w way) errand() errand {
	switch w {
	case wayServe:
		return errandServe
	case wayFrom:
		return errandGet
	}
	return errandPut
}

func (p *pull) errand() errand {
	if p.get != 0 {
		return errandGet
	}
	return errandCame
}
