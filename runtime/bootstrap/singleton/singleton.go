// Package singleton is the bootstrap of a program without a launcher: one PE, the whole job, which
// waits for no other.
package singleton

import (
	"slices"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
)

type singleton struct{ secret secret.Secret }

var _ bootstrap.Bootstrap = (*singleton)(nil)

// New returns the bootstrap of a job of one PE.
func New() bootstrap.Bootstrap { return &singleton{secret.New()} }

// Name implements bootstrap.Bootstrap: it returns the name of this kind of bootstrap.
func (*singleton) Name() string { return "singleton" }

// Rank returns 0: the only PE has that number.
func (*singleton) Rank() libshmem.PE { return 0 }

// Size returns 1: the job has one PE.
func (*singleton) Size() int { return 1 }

// Allgather returns the contribution of the only PE.
func (*singleton) Allgather(mine []byte) ([][]byte, error) {
	return [][]byte{slices.Clone(mine)}, nil
}

// Barrier returns at once, because there is no other PE to wait for.
func (*singleton) Barrier() error { return nil }

// LeaveBarrier returns at once, because there is no other PE to wait for.
func (*singleton) LeaveBarrier() error { return nil }

// Secret returns a secret that no other process needs.
func (s *singleton) Secret() *secret.Secret { return &s.secret }

// EndsJob implements bootstrap.Ender: this PE is the whole job.
func (*singleton) EndsJob() bool { return true }

// Losses returns none, because there is no other PE.
func (*singleton) Losses() []bootstrap.Loss { return nil }

// NewsFD returns no descriptor, because no news of other PEs arrive.
func (*singleton) NewsFD() int { return -1 }

// Abort does nothing: the caller ends its own process, and that is the whole job.
func (*singleton) Abort(int, string) {}

// Exit does nothing: the caller ends its own process, and that is the whole job.
func (*singleton) Exit(int) {}

// Over returns false: no other PE's failure could end the job.
func (*singleton) Over() bool { return false }

// Close does nothing, because there is no connection.
func (*singleton) Close() error { return nil }
