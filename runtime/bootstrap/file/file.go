// Package file brings together PEs that share a folder: PE 0 writes a unique id into a
// file that the others wait for, and removes it when it has joined with them. The rest is
// runtime/bootstrap/uid.
//
// A file that an earlier job has left holds an id that nobody listens to: a PE that has
// read it reads again until PE 0 of its own job has put another one in its place.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
)

// Env is the setting with the name of the file.
const Env = "SHMEM_BOOTSTRAP_FILE"

// Options are what a PE brings.
type Options struct {
	Path     string
	PE, Size int
	Filter   uid.Filter
	Timeout  time.Duration // for the others to come, above 0
	GoesOn   bool          // as uid.Options.GoesOn
}

const (
	// look is how often the file is looked at: folders of a network tell of nothing.
	look = 20 * time.Millisecond
	// try is how long an id may take that may be an old one.
	try = time.Second
)

// Join brings this PE together with the others.
func Join(o Options) (*uid.Member, error) {
	if o.PE < 0 || o.PE >= o.Size {
		return nil, fmt.Errorf("join job: SHMEM_BOOTSTRAP_PE is %d, SHMEM_BOOTSTRAP_NPES %d (set both: PEs are numbered from 0)", o.PE, o.Size)
	}
	if o.PE == 0 {
		return lead(o)
	}
	return follow(o)
}

func (o *Options) join(id uid.ID, timeout time.Duration) (*uid.Member, error) {
	return uid.Join(uid.Options{ID: id, PE: o.PE, Size: o.Size, Connect: timeout, Timeout: o.Timeout, GoesOn: o.GoesOn, Name: "file"})
}

func lead(o Options) (*uid.Member, error) {
	root, id, err := uid.NewRoot(o.Filter)
	if err != nil {
		return nil, err
	}
	m, err := publish(o, id)
	if err != nil {
		root.Close()
		return nil, err
	}
	return m, nil
}

// publish puts the id in its place, whole, joins, and takes it away when all have come or
// can come no more.
func publish(o Options, id uid.ID) (*uid.Member, error) {
	draft := fmt.Sprintf("%s.%d", o.Path, os.Getpid())
	if err := os.WriteFile(draft, id[:], 0o600); err != nil { // who reads it can join
		return nil, fmt.Errorf("join job: write the unique id: %w (SHMEM_BOOTSTRAP_FILE names a file in a folder that all PEs share)", err)
	}
	if err := os.Rename(draft, o.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("join job: %w", err), os.Remove(draft))
	}
	m, err := o.join(id, o.Timeout)
	if err == nil {
		if err = m.Barrier(); err == nil {
			return m, os.Remove(o.Path)
		}
		err = errors.Join(err, m.Close())
	}
	return nil, errors.Join(err, os.Remove(o.Path))
}

func follow(o Options) (*uid.Member, error) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	var last error
	for {
		m, err := o.attempt()
		if err == nil {
			err := m.Barrier()
			if err == nil {
				return m, nil
			}
			return nil, errors.Join(err, m.Close())
		}
		last = err
		select {
		case <-time.After(look):
		case <-ctx.Done():
			if errors.Is(last, fs.ErrNotExist) {
				return nil, errors.Join(fmt.Errorf("%s is not there", o.Path),
					&bootstrap.MissingError{Step: "join job", Missing: []int{0}, Waited: o.Timeout})
			}
			return nil, last
		}
	}
}

func (o *Options) attempt() (*uid.Member, error) {
	b, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	if len(b) != uid.Len {
		return nil, fmt.Errorf("join job: %s has %d bytes, a unique id has %d (remove it, or name another by SHMEM_BOOTSTRAP_FILE)", o.Path, len(b), uid.Len)
	}
	return o.join(uid.ID(b), min(try, o.Timeout))
}
