package proxy

import "libshmem/fabric"

// errand is what an engine asks the GPU's driver for. It is noted before each call,
// because one that the driver holds has the engine's lock, and nobody could ask then.
type errand uint8

const (
	errandNone   errand = iota
	errandPut           // bytes on their way to pe
	errandServe         // bytes that pe gets
	errandGet           // bytes that come from pe, asked for here
	errandCame          // what pe has put, signalled or changed here
	errandMark          // the end of what was asked of the streams
	errandFollow        // how far the streams are
	errandHolds         // where a buffer of the program is
)

var errandTexts = [...]string{
	errandNone: "", errandPut: "for a put to PE %d", errandServe: "for a get of PE %d", errandGet: "for a get from PE %d",
	errandCame: "for a put, a signal or an atomic operation of PE %d", errandMark: "to mark the end of its copies",
	errandFollow: "to learn how far its copies are", errandHolds: "to learn whether a buffer is GPU memory",
}

// runs notes an errand; pe means nothing where it has none.
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
	return errandText(e.stage.errand.Load())
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
