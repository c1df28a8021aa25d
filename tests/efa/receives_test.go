package efa

import (
	"fmt"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy"
)

// receiving counts the receives that are posted.
type receiving struct {
	fabric.Provider
	posted *int
}

func (r receiving) Recv(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	err := r.Provider.Recv(buf, n, desc, t)
	if err == nil {
		*r.posted++
	}
	return err
}

// receives is the number of receives that each of n PEs has posted once it is connected.
func receives(n, want int) func(*place) error {
	return func(p *place) error {
		posted := make([]int, n)
		opened := 0
		all, err := p.engines(n, 4096, func(prov fabric.Provider) fabric.Provider {
			opened++
			return receiving{prov, &posted[opened-1]}
		})
		if err != nil {
			return err
		}
		for pe, got := range posted {
			if got != want {
				return fmt.Errorf("%d receives are posted by PE %d, want %d of %d that there is room for", got, pe, want, all[pe].Caps().RecvQueue)
			}
		}
		return nil
	}
}

// In rush all engines but the first send messages and put to the first, as many as possible, while
// it does not poll. Its queue then holds a completion of each write in the windows, and of each
// receive.
func rush(n, window, buffers int) func(*place) error {
	return func(p *place) error {
		const size = 4096 // too large for a message, so that it is a write
		all, err := p.engines(n, 8+size, nil)
		if err != nil {
			return err
		}
		rest := all[1:]
		for i := range buffers {
			e := rest[i%len(rest)]
			if err := post("add", rest, e, func() proxy.Status { return e.AMO(0, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }); err != nil {
				return err
			}
			if _, err := e.Poll(); err != nil { // sends the messages that operations share
				return err
			}
		}
		var source [size]byte
		puts := make([]proxy.Request, len(rest)*window)
		for i := range puts {
			e := rest[i%len(rest)]
			if err := post("put", rest, e, func() proxy.Status {
				return e.Put(0, 8, unsafe.Pointer(&source), size, &puts[i])
			}); err != nil {
				return err
			}
		}
		if err := until("puts", rest, func() bool {
			for i := range puts {
				if puts[i].Done == 0 {
					return false
				}
			}
			return true
		}); err != nil {
			return err
		}
		// The stub holds a message back for at most 0.3 ms.
		later := time.Now().Add(20 * time.Millisecond)
		if err := until("messages", rest, func() bool { return time.Now().After(later) }); err != nil {
			return err
		}
		for _, e := range rest {
			if err := quiet(all, e); err != nil {
				return err
			}
		}
		if got := *(*int64)(unsafe.Pointer(&all[0].heap[0])); got != int64(buffers) {
			return fmt.Errorf("%d adds came, want %d", got, buffers)
		}
		for _, e := range all {
			e.close(p)
		}
		most, err := p.maxHeld(n)
		if want := len(puts) + buffers; err == nil && most != want {
			err = fmt.Errorf("a queue has held %d completions at most, want %d", most, want)
		}
		return err
	}
}
