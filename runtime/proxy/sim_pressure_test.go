package proxy

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// crowd is many PEs that send to PE 0 as fast as they may, and the maxima that the test has seen.
type crowd struct {
	w        *world
	left     []int // remaining operations of each sender, by PE
	posted   int
	refused  int
	serves   int
	peakKept [2]int // messages that PE 0 has kept until earlier ones came, and bytes of memory for them
}

func newCrowd(t *testing.T, m sim.Model, senders, each int) *crowd {
	c := &crowd{w: newWorld(t, m, 1, senders+1, 4096, new(memories)), left: make([]int, senders+1)}
	for pe := 1; pe <= senders; pe++ {
		c.left[pe] = each
	}
	return c
}

// small, middle and large are the sizes of the puts: the network may inject a small one; the
// message of a middle one has 136 bytes; a large one holds a token of its sender until it has left.
const small, middle, large = 8, 80, 3000

// step lets a random sender post until it is refused, and poll.
func (c *crowd) step() {
	pe := 1 + c.w.rng.IntN(len(c.w.pes)-1)
	p := c.w.pes[pe]
	source := p.heap[:large]
	for c.left[pe] > 0 {
		var st Status
		switch c.left[pe] % 3 {
		case 0:
			st = p.AMO(0, 0, fabric.OpAdd, 8, 1, 0, nil, nil)
		case 1:
			st = p.Put(0, 64, unsafe.Pointer(&source[0]), [2]uint64{small, middle}[c.left[pe]%2], nil)
		default:
			st = p.Put(0, 192, unsafe.Pointer(&source[0]), large, nil)
		}
		if st == Failed {
			c.w.fail("PE %d: post: %v", pe, p.Err())
			return
		}
		if st == Again {
			c.refused++
			break
		}
		c.left[pe]--
		c.posted++
	}
	c.w.poll(p)
}

// serve polls PE 0 once.
func (c *crowd) serve() {
	c.w.poll(c.w.pes[0])
	if c.serves++; c.serves%1024 == 0 {
		messages, bytes := c.w.pes[0].in.Early.Len(), c.w.pes[0].in.Early.Bytes()
		c.peakKept[0], c.peakKept[1] = max(c.peakKept[0], messages), max(c.peakKept[1], bytes)
	}
}

// Many PEs send to one. While that one does not poll, each sender stops at its own credits; nothing
// fails, and no more is taken from any sender however long that lasts. When it polls again, all
// messages arrive. The messages that wait for the target, and those that it keeps until earlier
// ones have come, are bounded for all senders together.
func TestSimPressure(t *testing.T) {
	senders, each := *simSenders, need.Load("senders/each")
	if need.Race {
		senders = min(senders, 50)
	}
	// If a send completes when it has left, tokens bound nothing; and one late message makes the
	// target keep the messages behind it.
	jumbled := sim.TCP()
	jumbled.Name, jumbled.Caps.SendAfterSend, jumbled.Caps.SendAfterWrite, jumbled.Caps.WriteAfterWrite = "tcp-unordered", false, false, false
	jumbled.Delay = 100 * sim.Millisecond
	for _, m := range []sim.Model{sim.TCP(), jumbled, sim.EFA(), sim.EFADirect(), sim.Worst(), sim.Unread(sim.TCP(), 1), sim.Unread(sim.Worst(), 4096)} {
		t.Run(kind(m), func(t *testing.T) {
			senders := senders
			if m.PollBytes > 0 { // as much for each of fewer senders
				senders = min(senders, 50)
			}
			c := newCrowd(t, m, senders, each)
			w := c.w
			// The target does not poll until the senders have stopped.
			for last := -1; last != c.posted && !w.ended; {
				last = c.posted
				for range senders {
					c.step()
				}
				for !w.net.Settled() {
					c.step()
				}
			}
			still, most := w.net.Waiting()
			t.Logf("%d of %d operations posted while the target slept, %d refused; %d KiB at the target's NIC, %d KiB at most",
				c.posted, senders*each, c.refused, still>>10, most>>10)
			if c.posted == senders*each {
				t.Errorf("the senders were not stopped")
			}
			if most > allBytes {
				t.Errorf("%d bytes wait for the target, more than the credits of %d senders", most, senders)
			}
			// It polls again.
			left := func() bool {
				for _, k := range c.left {
					if k > 0 {
						return true
					}
				}
				return false
			}
			for turns := 0; left() && !w.ended; turns++ {
				for range 8 {
					c.serve()
				}
				c.step()
				if turns > 400*senders*each {
					w.fail("the senders do not come to an end")
				}
			}
			sum := uint64(senders * each / 3)
			w.until("the last operation", func() bool {
				c.serve()
				return binary.NativeEndian.Uint64(w.pes[0].heap) == sum
			})
			t.Logf("the target kept %d messages in %d KiB at most; %d ms of virtual time", c.peakKept[0], c.peakKept[1]>>10, w.net.Now()/sim.Millisecond)
			if m.Caps.SendAfterSend && c.peakKept[0] > 0 {
				t.Errorf("%d messages were kept, on a network that keeps their order", c.peakKept[0])
			}
			if c.peakKept[1] > allBytes*8/5 {
				t.Errorf("%d bytes were kept, more than 1.6 times the credits of %d senders", c.peakKept[1], senders)
			}
			w.close(new(memories))
		})
	}
}
