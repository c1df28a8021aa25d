package onstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/runtime/gpu"
)

func bounces() Job {
	job := mixed()
	job.Bounce, job.GPU = 0x9000, 3
	return job
}

// TestBounce: operands that are tied to the program's context go through bounce buffers, and no
// others do.
func TestBounce(t *testing.T) {
	const many = 9*queue.BounceBytes + 1
	launched := func(kernel string, blocks, threads int, dest, source, count uint64, more string) string {
		return fmt.Sprintf("launch %s %dx%d on 4 dest=%#x source=%#x count=%d %s", kernel, blocks, threads, dest, source, count, more)
	}
	plain := "signal=0x0 value=0 pe=2 op=9 width=0x0 algorithm=0 nbi=0"
	signal := "signal=0x20100 value=3 pe=2 op=9 width=0x0 algorithm=0 nbi=0"
	bounce := " bounce=0x9000"
	for _, c := range []struct {
		name string
		what What
		call queue.StreamCall
		want string
	}{
		{"put", Put, queue.StreamCall{Dest: 0x10010, Source: tied, Count: 5, PE: 2},
			"pointer 0x5000000\n" + launched("put_bounced", 1, 512, 0x20010, tied, 5, plain+bounce)},
		{"put of many pieces", Put, queue.StreamCall{Dest: 0x10010, Source: tied, Count: many, PE: 2},
			"pointer 0x5000000\n" + launched("put_bounced", 4, 512, 0x20010, tied, many, plain+bounce)},
		{"get", Get, queue.StreamCall{Dest: tied, Source: 0x10010, Count: queue.BounceBytes + 1, PE: 2},
			"pointer 0x5000000\n" + launched("get_bounced", 2, 512, tied, 0x20010, queue.BounceBytes+1, plain+bounce)},
		{"put_signal", PutSignal, queue.StreamCall{Dest: 0x10010, Source: tied, Count: many, Signal: 0x10100, Value: 3, PE: 2},
			"pointer 0x5000000\n" + launched("put_signal_bounced", 1, 512, 0x20010, tied, many, signal+bounce)},
		{"put_notify", PutNotify, queue.StreamCall{Dest: 0x10010, Source: tied, Count: many, PE: 2},
			"pointer 0x5000000\n" + launched("put_notify_bounced", 1, 512, 0x20010, tied, many, plain+bounce)},
		{"what is not tied", Put, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, PE: 2},
			"pointer 0x77\n" + launched("put", 1, 32, 0x20010, 0x77, 5, plain)},
		{"memory of another GPU", Get, queue.StreamCall{Dest: elsewhere, Source: 0x10010, Count: 5, PE: 2},
			"pointer 0x6000000\n" + launched("get", 1, 32, elsewhere, 0x20010, 5, plain)},
		{"a PE that is near", Put, queue.StreamCall{Dest: 0x10010, Source: tied, Count: 5, PE: 1}, "copy 0x30010 0x5000000 5 on 4"},
		{"nothing", Put, queue.StreamCall{Dest: 0x10010, Source: tied, PE: 2}, launched("put", 1, 32, 0x20010, tied, 0, plain)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{facts: gpu.Facts{StreamOps: true}}
			calls := opened(t, r, bounces())
			c.call.Op, c.call.TeamPEs = signalSet, 3
			if err := calls.Queue(c.what, &c.call, stream); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.log, "\n"); got != c.want {
				t.Errorf("asked of the GPU:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
	r := &recorder{facts: gpu.Facts{StreamOps: true}}
	calls := opened(t, r, bounces())
	r.fail = "pointer"
	if err := calls.Queue(Put, &queue.StreamCall{Dest: 0x10010, Source: tied, Count: 5, PE: 2}, stream); !errors.Is(err, errRefused) || len(r.log) != 1 {
		t.Errorf("where the driver does not know the operand: error %v, asked of the GPU: %q", err, r.log)
	}
}
