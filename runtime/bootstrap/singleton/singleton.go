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

func (*singleton) Name() string      { return "singleton" }
func (*singleton) Rank() libshmem.PE { return 0 }
func (*singleton) Size() int         { return 1 }

// Allgather returns the contribution of the only PE.
func (*singleton) Allgather(mine []byte) ([][]byte, error) {
	return [][]byte{slices.Clone(mine)}, nil
}

func (*singleton) Barrier() error      { return nil }
func (*singleton) LeaveBarrier() error { return nil }

// Secret returns a secret that no other process needs.
func (s *singleton) Secret() *secret.Secret { return &s.secret }

// EndsJob implements bootstrap.Ender: this PE is the whole job.
func (*singleton) EndsJob() bool { return true }

// Losses returns none, because there is no other PE.
func (*singleton) Losses() []bootstrap.Loss { return nil }
func (*singleton) NewsFD() int              { return -1 }

// Abort and Exit do nothing: the caller ends its own process, and that is the whole job.
func (*singleton) Abort(int, string) {}
func (*singleton) Exit(int)          {}

// Over returns false: no other PE's failure could end the job.
func (*singleton) Over() bool { return false }

func (*singleton) Close() error { return nil }
