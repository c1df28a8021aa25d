package efa

import (
	"bytes"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// internal is the internal area of an engine's memory, which nothing here uses.
const internal = 4096

// engine is one PE of a job within this process.
type engine struct {
	*proxy.Engine
	memory, heap []byte
	words        [6]uint32
	fatal        error
	lost         []libshmem.PE
	closed       bool
}

// engines opens PEs over the stub, each with a heap. around wraps each PE's end of the network, if
// it is not nil.
func (p *place) engines(n, heap int, around func(fabric.Provider) fabric.Provider) ([]*engine, error) {
	p.Helper()
	var all []*engine
	p.Cleanup(func() {
		for _, e := range all {
			e.close(p)
		}
	})
	config := proxy.ProviderConfig(n)
	config.Library, config.Provider = p.library, p.provider()
	addresses := make([]proxy.Endpoint, n)
	for i := range n {
		prov, err := ofi.Open(config)
		if err != nil {
			return nil, fmt.Errorf("PE %d of %d: %w", i, n, err)
		}
		if around != nil {
			prov = around(prov)
		}
		e := new(engine)
		if e.memory, err = unix.Mmap(-1, 0, internal+heap, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
			p.Fatal(err)
		}
		e.heap = e.memory[internal:]
		e.Engine, err = proxy.New(prov, i, n, mem.Segment{Base: unsafe.Pointer(&e.memory[0]), Internal: internal, Size: uint64(len(e.memory))},
			wake.Words{Lock: &e.words[0], Pollers: &e.words[1], Napping: &e.words[2], Sleepers: &e.words[3], Wakes: &e.words[4]},
			func(err error) { e.fatal = errors.Join(e.fatal, err) })
		if err != nil {
			p.Fatal(err)
		}
		e.OnLost(func(pe libshmem.PE, _ error) { e.lost = append(e.lost, pe) })
		all = append(all, e)
		addresses[i] = e.Endpoint()
	}
	for _, e := range all {
		if err := e.Connect(addresses); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (e *engine) close(p *place) {
	if !e.closed {
		e.closed = true
		if err := errors.Join(e.Close(), unix.Munmap(e.memory)); err != nil {
			p.Error(err)
		}
	}
}

// until polls engines in turn until a condition holds, or one of them has failed.
func until(what string, all []*engine, holds func() bool) error {
	for end := time.Now().Add(needTimeout / 2); !holds(); {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not so after %v", what, needTimeout/2)
		}
		for i, e := range all {
			if _, err := e.Poll(); err != nil || e.fatal != nil {
				return fmt.Errorf("%s: PE %d: %w", what, i, errors.Join(e.fatal, err))
			}
		}
	}
	return nil
}

// post repeats an operation until there is room.
func post(what string, all []*engine, e *engine, f func() proxy.Status) error {
	var st proxy.Status
	err := until(what, all, func() bool {
		st = f()
		return st != proxy.Again
	})
	if err == nil && st == proxy.Failed {
		err = fmt.Errorf("%s: %w", what, e.Err())
	}
	return err
}

// quiet waits until all operations that an engine has posted are complete.
func quiet(all []*engine, e *engine) error {
	ticket, st := e.QuietBegin(), proxy.Pending
	err := until("quiet", all, func() bool {
		st = e.QuietDone(ticket)
		return st != proxy.Pending
	})
	if err == nil && st != proxy.Done {
		err = fmt.Errorf("quiet: %d, %w", st, e.Err())
	}
	return err
}

// allToAll puts from every engine to every other one, with a signal behind the bytes, and checks
// every byte once its signal has arrived.
func allToAll(all []*engine, size int) error {
	n := len(all)
	signals, part := 0, (size+7)&^7
	bytesAt := 8 * n
	source := make([][]byte, n)
	for i := range source {
		source[i] = make([]byte, size)
		for k := range size {
			source[i][k] = byte(i*31 + k*7 + k>>8*13 + 1)
		}
	}
	for k := 1; k < n; k++ {
		for i, e := range all {
			to := (i + k) % n
			if err := post(fmt.Sprintf("put of PE %d to PE %d", i, to), all, e, func() proxy.Status {
				return e.PutSignal(libshmem.PE(to), libshmem.Offset(bytesAt+i*part), unsafe.Pointer(&source[i][0]), uint64(size), libshmem.Offset(signals+8*i), 1, fabric.OpSet, nil)
			}); err != nil {
				return err
			}
		}
	}
	for _, e := range all {
		if err := quiet(all, e); err != nil {
			return err
		}
	}
	for i, e := range all {
		for from := range all {
			if from == i {
				continue
			}
			if err := until(fmt.Sprintf("signal of PE %d to PE %d", from, i), all, func() bool { return e.heap[signals+8*from] == 1 }); err != nil {
				return err
			}
			if at := bytesAt + from*part; !bytes.Equal(e.heap[at:at+size], source[from]) {
				return fmt.Errorf("bytes of PE %d did not come to PE %d as they were sent", from, i)
			}
		}
	}
	return nil
}

// manyEngines is a job of several PEs within one process.
func manyEngines(n int) func(*place) error {
	return func(p *place) error {
		const size = 4096
		all, err := p.engines(n, n*(size+8), nil)
		if err != nil {
			return err
		}
		if err := allToAll(all, size); err != nil {
			return err
		}
		for _, e := range all {
			e.close(p)
		}
		return p.queues(n)
	}
}
