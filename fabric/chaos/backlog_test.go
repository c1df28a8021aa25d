package chaos

import (
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
)

// deaf has no room for anything to one PE, as a network whose peer is lost, and
// counts how often it was asked.
type deaf struct {
	fabric.Provider
	to    libshmem.PE
	asked int
}

func (d *deaf) Send(op *fabric.Send) error {
	if op.To == d.to {
		d.asked++
		return fabric.ErrAgain
	}
	return d.Provider.Send(op)
}

// TestLine: messages to a PE for which there is never room delay none to another, and are not
// posted again all the time.
func TestLine(t *testing.T) {
	const (
		messages = 100
		size     = 64
	)
	n := sim.New(sim.Verbs(), 1)
	c := fabric.Config{Tokens: 4 * messages, MaxRecv: 2 * messages}
	ends := make([]fabric.Provider, 3)
	addrs := make([][]byte, len(ends))
	wall := &deaf{to: 1}
	for i := range ends {
		used := c
		if i == 0 {
			used = Inner(c)
		}
		p, err := n.Open(i, used)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			wall.Provider = p
			if p, err = New(wall, c, Plan{Seed: 3, Faults: faults.Faults{Reorder: 1, Delay: time.Millisecond}}, false); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		ends[i], addrs[i] = p, p.Addr()
	}
	for _, p := range ends {
		if err := p.Connect(addrs); err != nil {
			t.Fatal(err)
		}
	}
	from, to := ends[0].(*Provider), ends[2]
	var now int64
	from.clock = func() int64 { return now }
	mem := make([]byte, messages*size)
	region, err := to.Register(unsafe.Pointer(&mem[0]), uint64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if err := to.Recv(unsafe.Pointer(&mem[i*size]), size, region.Desc, fabric.Token(i)); err != nil {
			t.Fatal(err)
		}
	}
	word := make([]byte, 8)
	for i := range messages {
		for _, pe := range []libshmem.PE{1, 2} {
			if err := from.Send(&fabric.Send{To: pe, Buf: unsafe.Pointer(&word[0]), Len: 8, Inject: true}); err != nil {
				t.Fatalf("message %d to PE %d: %v", i, pe, err)
			}
		}
	}
	batch := make([]fabric.Completion, 2*messages)
	got := 0
	const tick = retry / 2
	looks := 0
	for stop := time.Now().Add(time.Minute); got < messages; looks++ {
		now += tick
		for _, p := range []fabric.Provider{from, to} {
			n, err := p.Poll(batch)
			if err != nil {
				t.Fatal(err)
			}
			if p == to {
				got += n
			}
		}
		if time.Now().After(stop) {
			t.Fatalf("%d of %d messages arrived at PE 2 in a minute, PE 1 was asked %d times", got, messages, wall.asked)
		}
	}
	if from.refused.count == 0 || wall.asked == 0 {
		t.Errorf("%d messages wait for PE 1, which was asked %d times", from.refused.count, wall.asked)
	}
	if most := looks/2 + 2; wall.asked > most {
		t.Errorf("PE 1 was asked %d times in %d looks, at most %d are of use", wall.asked, looks, most)
	}
	if d, err := from.Wait(time.Hour); !d || err != nil {
		t.Errorf("a Wait with messages that wait for room: %v, %v", d, err)
	}
}
