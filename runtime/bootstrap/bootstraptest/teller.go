// Package bootstraptest gives tests a launcher that they make report losses.
package bootstraptest

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
)

// LossReporter is a fake Bootstrap for tests: it reports the losses of PEs that a test makes up.
// Most other calls panic.
type LossReporter struct {
	bootstrap.Bootstrap
	mu   sync.Mutex
	lost []bootstrap.Loss
	ends [2]int // a socket pair: Report and Write write to ends[0], NewsFD returns ends[1]
}

// NewLossReporter returns a LossReporter, which is closed when the test ends.
func NewLossReporter(t testing.TB) *LossReporter {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(ends[0]), unix.Close(ends[1]) })
	return &LossReporter{ends: ends}
}

// Report makes the next call of Losses return a loss, and NewsFD readable.
func (b *LossReporter) Report(t testing.TB, l bootstrap.Loss) {
	t.Helper()
	b.mu.Lock()
	b.lost = append(b.lost, l)
	b.mu.Unlock()
	b.Write(t, "x")
}

// Write makes NewsFD readable. It reports nothing.
func (b *LossReporter) Write(t testing.TB, text string) {
	t.Helper()
	if _, err := unix.Write(b.ends[0], []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Disappear ends the connection, as the end of a launcher does.
func (b *LossReporter) Disappear(t testing.TB) {
	t.Helper()
	if err := unix.Shutdown(b.ends[0], unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
}

// Losses returns the reports since the last call. It empties the socket only if there are some, so
// that bytes of Write keep NewsFD readable.
func (b *LossReporter) Losses() (lost []bootstrap.Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost, b.lost = b.lost, nil
	var buf [64]byte
	if len(lost) > 0 {
		_, _ = unix.Read(b.ends[1], buf[:])
	}
	return lost
}

// NewsFD returns the descriptor that becomes readable when there are losses.
func (b *LossReporter) NewsFD() int { return b.ends[1] }

// EndsJob reports that this launcher ends a job that has lost a PE.
func (b *LossReporter) EndsJob() bool { return true }

// Secret returns no secret.
func (b *LossReporter) Secret() *secret.Secret { return nil }
