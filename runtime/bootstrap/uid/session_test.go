package uid

import (
	"net"
	"testing"
	"time"

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
	id, err := Session(address)
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 5
	all(t, 3, func(pe libshmem.PE) error {
		for job := range jobs {
			m, err := Join(Options{ID: id, PE: pe, Size: 3, Timeout: patient})
			if err != nil {
				return err
			}
			if err := m.Barrier(); err != nil {
				return err
			}
			// PE 2 is late to leave, so that PE 1 comes for the next job before.
			if pe == 2 && job < jobs-1 {
				time.Sleep(50 * time.Millisecond)
			}
			if err := m.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}
