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
	words    []uint32
	fatal    error
	said     atomic.Pointer[error] // the last report
}

// peers is its number of PEs: the acknowledged loads name as many.
const peers = 1 << 16

// newProduct makes one that posts to a provider. Its heap accepts every offset of a slot, but has
// no memory: nothing arrives.
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
	p.consumer = loop.NewConsumer(p.engine, rings, loop.NewLocals(), func(err error) { p.said.Store(&err) })
	p.loop = loop.New(p.engine)
	go p.loop.Run()
	// As for kernels also where threads push: it must poll, not sleep.
	p.loop.Attach(p.consumer, true)
	return p, nil
}

// run waits until everything has been posted, or too much time has passed since the last operation.
func (p *product) run(a *run, out *provider) error {
	posts := a.operations - a.quiets
	if got := out.await(posts, a.limit); got < posts {
		a.gaveUp = true
		err := fmt.Errorf("%d of %d operations were posted, and none in %d s", got, posts, a.limit/1e9)
		if said := p.said.Load(); said != nil {
			err = fmt.Errorf("%w; the proxy: %w", err, *said)
		}
		return err
	}
	a.consumed = a.operations
	return nil
}

// close ends it after the producers. Reports matter only if operations are missing, because a proxy
// without its own processor causes one.
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
