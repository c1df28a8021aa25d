package main

import (
	"errors"
	"fmt"
	"time"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/devmem"
)

// streams has a stream of each PE store a word into the heap of the next and wait for the word of
// the PE before.
func (p *player) streams(s *devmem.Segment) error {
	if p.gap(s) || !p.dev.Facts().StreamOps {
		if p.me == 0 {
			p.note("no stores by streams into the next heap: StreamOps is %v", p.dev.Facts().StreamOps)
		}
		return nil
	}
	stream, err := p.dev.NewStream()
	if err != nil {
		return err
	}
	err = p.dev.FillAsync(stream, s.Heap(p.me), 0, 64)
	err = errors.Join(err, p.dev.SyncStream(stream), p.together())
	if next := (p.me + 1) % p.n; err == nil {
		const rounds = 100
		begin := time.Now()
		for k := uint64(1); k <= rounds && err == nil; k++ {
			err = errors.Join(
				p.dev.Write64(stream, s.Heap(next), k),
				p.dev.Wait64(stream, s.Heap(p.me), k, gpu.AtLeast),
				p.dev.SyncStream(stream),
			)
		}
		if p.me == 0 {
			p.note("store by stream into the next heap and wait for the last: %.1f us a round", float64(time.Since(begin).Microseconds())/rounds)
		}
	}
	return errors.Join(err, p.dev.CloseStream(stream))
}

// rate is the speed of copies into the next heap: all at once, so that the copy engines of all GPUs
// are at work.
func (p *player) rate(s heaps) error {
	const rounds = 10
	n := s.Committed() / 4
	next := (p.me + 1) % p.n
	if p.gap(s) {
		return nil
	}
	stream, err := p.dev.NewStream()
	if err != nil {
		return err
	}
	behind := gpu.Address(n)
	once := func() error { return p.dev.CopyAsync(stream, s.Heap(next)+behind, s.Heap(p.me), n) }
	err = errors.Join(once(), p.dev.SyncStream(stream), p.together())
	begin := time.Now()
	for range rounds {
		err = errors.Join(err, once())
	}
	err = errors.Join(err, p.dev.SyncStream(stream))
	took := time.Since(begin)
	if p.me == 0 && err == nil {
		p.note("copies of %d MiB into the next heap: %.1f GB/s", n/mib, float64(n)*rounds/1e9/took.Seconds())
	}
	if err = errors.Join(err, p.dev.CloseStream(stream)); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}
