// Package file brings together PEs that share a folder: PE 0 writes a unique id into a
// file that the others wait for, and removes it when it has joined with them. The rest is
// runtime/bootstrap/uid.
//
// A file that an earlier job has left holds an id that nobody listens to: a PE that has
// read it reads again until PE 0 of its own job has put another one in its place.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
)

// Env is the setting with the name of the file.
const Env = "SHMEM_BOOTSTRAP_FILE"

// Options are what a PE brings.
type Options struct {
	Path     string
	Setting  string // that has named it, or its folder; "": Env
	Name     string // of the bootstrap; "": file
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
	return uid.Join(uid.Options{ID: id, PE: o.PE, Size: o.Size, Connect: timeout, Timeout: o.Timeout, GoesOn: o.GoesOn, Name: cmp.Or(o.Name, "file")})
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
	if err := put(o.Path, id[:]); err != nil {
		return nil, fmt.Errorf("join job: write the unique id: %w (see what %s names: all PEs share the folder, and this user can write to it)", err, cmp.Or(o.Setting, Env))
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

// put writes a file that only this user can read: who reads it can join. Nobody else can
// have made it before, or lead it elsewhere.
func put(path string, bytes []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(bytes)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// get reads a file that put has written. Another user's would lead into a job of theirs.
func get(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid //nolint:forcetypeassert // on Linux it is one
	switch me := os.Geteuid(); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file (remove it)", path)
	case int(owner) != me:
		return nil, fmt.Errorf("%s belongs to user %d, and this is user %d (have it removed, or name a folder that others cannot write to)", path, owner, me)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read or written by other users: it has mode %#o, expected 0600 (remove it)", path, info.Mode().Perm())
	}
	b := make([]byte, uid.Len+1)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return b[:n], nil
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
	b, err := get(o.Path)
	if err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	if len(b) != uid.Len {
		return nil, fmt.Errorf("join job: %s holds no unique id, which has %d bytes (remove it, or name another by %s)", o.Path, uid.Len, cmp.Or(o.Setting, Env))
	}
	return o.join(uid.ID(b), min(try, o.Timeout))
}
