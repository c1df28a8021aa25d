package selftest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"libshmem/fabric"
)

// mainMemory writes to registered memory, and checks that the bytes arrive.
func mainMemory(e *endpoint) (string, error) {
	const n = 1 << 18
	target := e.memory[half : half+n]
	clear(target)
	t, err := e.write(e.region, half, n, false, 0)
	if err == nil {
		err = e.finish(t)
	}
	if err != nil {
		return "", fmt.Errorf("write %d bytes: %w", n, err)
	}
	there := func() bool { return bytes.Equal(target, e.memory[:n]) }
	if e.caps.DeliveryComplete && !there() {
		return "", fmt.Errorf("the write of %d bytes is complete, but its bytes have not arrived", n)
	}
	if err := e.until("the bytes are there", there); err != nil {
		return "", err
	}
	return "registered, and written to", nil
}

// immediateData writes with 4 bytes of immediate data, and checks that they arrive after all bytes
// of the write.
func immediateData(e *endpoint) (string, error) {
	if e.caps.Data < 4 {
		return "", nil
	}
	const n, data = 1 << 17, 0x5ca1ab1e
	target := e.memory[half : half+n]
	clear(target)
	e.data = nil
	t, err := e.write(e.region, half, n, true, data)
	if err == nil {
		err = e.finish(t)
	}
	if err == nil {
		err = e.until("the data is there", func() bool { return len(e.data) > 0 })
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("write %d bytes with data: %w", n, err)
	case e.data[0].Data != data:
		return "", fmt.Errorf("the data is %#x, but %#x was sent", e.data[0].Data, uint32(data))
	case !bytes.Equal(target, e.memory[:n]):
		return "", fmt.Errorf("the immediate data has arrived, but the bytes of its write have not")
	case e.caps.Source && e.data[0].From() != 0:
		return "", fmt.Errorf("the data seems to come from PE %d, but was sent by PE 0", e.data[0].From())
	}
	if !e.caps.Source {
		return "4 bytes arrived with a write; the provider does not name the sender", nil
	}
	return "4 bytes arrived with a write, with their sender", nil
}

// order checks that each message arrives once, and in order if the provider promises that.
func order(e *endpoint) (string, error) {
	const n = receives
	e.received = nil
	var posted []fabric.Token
	for i := range uint64(n) {
		t, err := e.send(i)
		if err != nil {
			return "", fmt.Errorf("send message %d: %w", i, err)
		}
		posted = append(posted, t)
	}
	for i, t := range posted {
		if err := e.finish(t); err != nil {
			return "", fmt.Errorf("send message %d: %w", i, err)
		}
	}
	if err := e.until("all messages are there", func() bool { return len(e.received) >= n }); err != nil {
		return "", err
	}
	inOrder := slices.IsSorted(e.received)
	came := slices.Sorted(slices.Values(e.received))
	for i := range came {
		if came[i] != uint64(i) || len(came) != n {
			return "", fmt.Errorf("%d of %d messages arrived, the first wrong one is %d", len(came), n, came[i])
		}
	}
	switch {
	case e.caps.SendAfterSend && !inOrder:
		return "", fmt.Errorf("messages arrived out of order, although the provider promises order")
	case !e.caps.SendAfterSend:
		return fmt.Sprintf("%d messages arrived, each once; no order is promised", n), nil
	}
	return fmt.Sprintf("%d messages arrived, each once, in order", n), nil
}

// postings posts one write after the other with nothing else under way. A full queue is then an
// error of the provider.
func postings(e *endpoint) (string, error) {
	const n = 512
	e.refusals = 0
	for range n {
		t, err := e.write(e.region, half, 64, false, 0)
		if err == nil {
			err = e.finish(t)
		}
		if err != nil {
			return "", err
		}
	}
	if e.refusals > 0 {
		return "", fmt.Errorf("%d of %d writes were refused for lack of room with nothing in flight", e.refusals, n)
	}
	return fmt.Sprintf("%d writes were accepted at once", n), nil
}

// waitObjects checks that the arrival of a message ends a Wait.
func waitObjects(e *endpoint) (string, error) {
	if !e.caps.WaitFD {
		return "", nil
	}
	const rounds = 20
	for i := range uint64(rounds) {
		e.received = nil
		t, err := e.send(i)
		if err != nil {
			return "", err
		}
		over := func() bool { _, sent := e.done[t]; return sent && len(e.received) > 0 }
		for start := time.Now(); !over(); {
			if err := e.poll(); err != nil {
				return "", err
			}
			slept := !over() && e.prov.Arm()
			if slept {
				if _, err := e.prov.Wait(opTimeout); err != nil {
					return "", err
				}
			}
			switch late := time.Since(start) >= opTimeout; {
			case late && slept:
				return "", fmt.Errorf("a message arrived, but the sleep of %v did not end", opTimeout)
			case late && !over():
				return "", fmt.Errorf("no message arrived in %v, and the endpoint does not let this PE sleep", opTimeout)
			}
		}
		if err := e.finish(t); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d sleeps were ended by messages", rounds), nil
}

// gpuMemory registers memory of a GPU and writes to it.
func (e *endpoint) gpuMemory(g GPU) error {
	if g.Clear != nil {
		if err := g.Clear(); err != nil {
			return err
		}
	}
	region, err := e.prov.RegisterGPU(g.Memory)
	if err != nil {
		return err
	}
	n := min(int(g.Memory.Len), 1<<16)
	t, err := e.write(region, 0, n, false, 0)
	if err == nil {
		err = e.finish(t)
	}
	if err != nil {
		return fmt.Errorf("write %d bytes: %w", n, err)
	}
	got := make([]byte, n)
	for end := time.Now().Add(opTimeout); ; {
		if err := g.Read(got); err != nil {
			return err
		}
		if bytes.Equal(got, e.memory[:n]) {
			return e.prov.Unregister(region)
		}
		if e.caps.DeliveryComplete || time.Now().After(end) {
			return fmt.Errorf("the write of %d bytes is complete, but its bytes are not in the GPU's memory", n)
		}
		if err := e.poll(); err != nil {
			return err
		}
	}
}
