package main

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// product is the library's own proxy: an engine with a consumer, and its loop.
type product struct {
	engine   *proxy.Engine
	loop     *loop.Loop
	consumer *loop.Consumer
	words    []uint32              // shared words of the engine, in C's memory
	fatal    error                 // why the engine has failed
	reported atomic.Pointer[error] // the last error that the consumer has reported
}

// peers is the number of PEs of its job: more than the 50,000 that the operations of acks name.
const peers = 1 << 16

// newProduct starts a proxy that posts to a provider. Its heap is as large as the offsets in slots
// may be, but has no memory: nothing is ever written there.
func newProduct(rings []*queue.Ring, out *provider) (*product, error) {
	p := &product{words: cWords(6)}
	w := p.words
	var err error
	p.engine, err = proxy.New(out.native(), peers-1, peers,
		mem.Segment{Base: unsafe.Pointer(out.null), Size: 1 << 44},
		wake.Words{Lock: &w[0], Pollers: &w[1], Napping: &w[2], Sleepers: &w[3], Wakes: &w[4], Wanted: &w[5]},
		func(err error) { p.fatal = err })
	if err != nil {
		return nil, err
	}
	ends := make([]proxy.Endpoint, peers)
	for i := range ends {
		ends[i] = p.engine.Endpoint()
	}
	if err := p.engine.Connect(ends); err != nil {
		return nil, err
	}
	p.consumer = loop.NewConsumer(p.engine, rings, loop.NewLocals(), func(err error) { p.reported.Store(&err) })
	p.loop = loop.New(p.engine)
	go p.loop.Run()
	// true: the loop polls the rings, as for kernels, also if host threads push. It must not sleep.
	p.loop.Attach(p.consumer, true)
	return p, nil
}

// run waits until everything has been posted, or too much time has passed since the last operation.
func (p *product) run(a *run, out *provider) error {
	posts := a.operations - a.quiets
	if got := out.await(posts, a.limit); got < posts {
		a.gaveUp = true
		err := fmt.Errorf("%d of %d operations were posted, and none in %d s", got, posts, a.limit/1e9)
		if reported := p.reported.Load(); reported != nil {
			err = fmt.Errorf("%w; the proxy: %w", err, *reported)
		}
		return err
	}
	a.consumed = a.operations
	return nil
}

// close ends the proxy; the producers have ended. It returns only a failure of the engine. Reports
// of the consumer matter only if operations are missing (run): a proxy that shares its processor
// causes one also when all goes well.
func (p *product) close() error {
	p.consumer.Finish()
	p.loop.Stop()
	err := p.engine.Close()
	freeWords(p.words)
	if p.fatal != nil {
		return fmt.Errorf("the proxy: %w", p.fatal)
	}
	return err
}
