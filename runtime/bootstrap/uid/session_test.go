package uid

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"libshmem"
)

// A PE that is done with a job of a session comes for the next one while others are still in this
// one: it has to wait for the next root, and PE 0 for nothing.
func TestSessionAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	id, err := Session(t.Context(), Place{Address: address}, false)
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 5
	came := make(chan struct{}, jobs) // PE 1 sends when a root has turned it away, once in each job but the first
	seen := make(chan struct{}, jobs) // PE 2 sends then
	all(t, 3, func(pe libshmem.PE) error {
		switch pe {
		case 1:
			defer close(came)
		case 2:
			defer close(seen)
		}
		for job := range jobs {
			var tries atomic.Int32
			m, err := join(Options{ID: id, PE: pe, Size: 3, Timeout: eventTimeout}, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				// A second try means that the root has refused the first.
				if tries.Add(1) == 2 && pe == 1 && job > 0 {
					came <- struct{}{}
				}
				return dialTCP(ctx, to)
			})
			if err != nil {
				return err
			}
			if pe == 1 && job > 0 && tries.Load() == 1 {
				return errors.Join(errors.New("the root of the last job admits PE 1"), m.Close())
			}
			if err := m.Barrier(); err != nil {
				return err
			}
			// The others leave only when PE 1 has come for the next job.
			switch {
			case pe == 2 && job < jobs-1:
				<-came
				seen <- struct{}{}
			case pe == 0 && job < jobs-1:
				<-seen
			}
			if err := m.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}
