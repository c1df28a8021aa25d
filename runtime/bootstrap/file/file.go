// Package file brings together PEs that share a folder: PE 0 writes a unique id into a file, for
// which the others wait, and removes the file when all have joined. The rest is
// runtime/bootstrap/uid.
//
// A file that an earlier job has left contains an id at whose addresses no process listens any
// more. A PE that has read such an id fails to connect, and reads the file again until PE 0 of its
// own job has replaced it.
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

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
)

// Env is the setting with the name of the file.
const Env = "SHMEM_BOOTSTRAP_FILE"

// Options describe this PE and its job.
type Options struct {
	Path     string
	Setting  string // name of the setting that gave Path or its folder; "": Env
	Name     string // name of the bootstrap; "": "file"
	PE       libshmem.PE
	Size     int
	Filter   uid.Filter
	Timeout  time.Duration // how long to wait for the other PEs, above 0
	Survives bool          // the PE continues when others fail (SHMEM_ON_FAILURE=return)
}

const (
	// pollInterval is the interval between reads of the file. The folder may be on a network file
	// system, which does not report changes.
	pollInterval = 20 * time.Millisecond
	// try is the time for which a PE tries to connect by an id that may be an earlier job's.
	try = time.Second
)

// Join brings this PE together with the other PEs that name the same file: PE 0 writes a unique id
// into the file, and the others read it. After Join the file is no longer needed.
func Join(o Options) (*uid.Member, error) {
	if !o.PE.In(o.Size) {
		return nil, fmt.Errorf("join job: SHMEM_BOOTSTRAP_PE is %d, SHMEM_BOOTSTRAP_NPES %d (set both: PEs are numbered from 0)", o.PE, o.Size)
	}
	if o.PE == 0 {
		return lead(o)
	}
	return follow(o)
}

// join joins the job by its unique id. timeout is how long it tries to connect to PE 0.
func (o *Options) join(id uid.ID, timeout time.Duration) (*uid.Member, error) {
	return uid.Join(uid.Options{ID: id, PE: o.PE, Size: o.Size, Connect: timeout, Timeout: o.Timeout, Survives: o.Survives, Name: cmp.Or(o.Name, "file")})
}

// lead does the work of Join on PE 0: it listens, and publishes its unique id, from which the
// others learn the address and the secret, in the file.
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

// publish makes the file with the id, in place of one that an earlier job has left, and joins. It
// removes the file when all PEs have joined or the join has failed.
func publish(o Options, id uid.ID) (*uid.Member, error) {
	err := put(o.Path, id[:])
	for errors.Is(err, fs.ErrExist) {
		if err = o.clear(); err == nil {
			err = put(o.Path, id[:])
		}
	}
	var notOurs *fileError
	switch {
	case errors.As(err, &notOurs):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("join job: write the unique id: %w (check what %s names: all PEs must share the folder, and this user must be able to write to it)", err, cmp.Or(o.Setting, Env))
	}
	m, err := o.join(id, o.Timeout)
	if err != nil {
		return nil, errors.Join(err, o.remove(id))
	}
	if err = errors.Join(m.Barrier(), o.remove(id)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// fileError reports a file that PE 0 neither uses nor removes, because it is not this job's.
type fileError struct{ path, what, remedy, setting string }

// Error names the file, and the setting to change.
func (e *fileError) Error() string {
	return fmt.Sprintf("join job: %s %s (%s in %s)", e.path, e.what, e.remedy, e.setting)
}

// nameTaken returns the error of a file that another job uses at the same time.
func (o *Options) nameTaken() error {
	return &fileError{o.Path, "belongs to another job, whose PEs are about to arrive", "give each job its own name", cmp.Or(o.Setting, Env)}
}

// foreign returns the error of a file that no job has written. The user may have named it by
// mistake, so it is not removed.
func (o *Options) foreign() error {
	return &fileError{o.Path, "has something else than the unique id of a job in it", "name a file that does not exist", cmp.Or(o.Setting, Env)}
}

// remove deletes the file. If another job has written its id there meanwhile, it returns an error
// instead, because PEs of one job may have joined the other.
func (o *Options) remove(id uid.ID) error {
	b, err := get(o.Path)
	if err == nil && string(b) != string(id[:]) || errors.Is(err, fs.ErrNotExist) {
		return o.nameTaken()
	}
	return errors.Join(err, os.Remove(o.Path))
}

// clear removes the file of an earlier job: it has an id, or is empty because that job was killed
// before it wrote the id. It also removes a link or a pipe. Between the read and the removal PE 0
// of another job may replace the file, so clear renames it, reads it again, and puts it back if its
// content differs. It returns nil if publish may try again to make the file.
func (o *Options) clear() error {
	found, err := get(o.Path)
	info, statErr := os.Lstat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case statErr == nil && info.Mode().IsRegular() && err != nil:
		return err
	case err == nil && len(found) > 0 && !uid.IsID(found):
		return o.foreign()
	}
	// If a process still listens for the id, its job has not begun yet and needs the file.
	if len(found) == uid.Len && uid.Reachable(uid.ID(found), min(try, o.Timeout)) {
		return o.nameTaken()
	}
	f, err := os.CreateTemp(filepath.Dir(o.Path), filepath.Base(o.Path)+".*")
	if err != nil {
		return err
	}
	_ = f.Close() // only the name is needed
	if err := os.Rename(o.Path, f.Name()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if moved, _ := get(f.Name()); string(moved) != string(found) {
		return errors.Join(o.nameTaken(), os.Rename(f.Name(), o.Path))
	}
	return os.Remove(f.Name())
}

// put writes a file that only this user can read, because any process that reads it can join. It
// fails if a file or a link with this name exists, because another user may have made it.
func put(path string, bytes []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// get reads a file that put has written. It refuses a file that another user has made or can
// change: by its id the PE would join a job of that user. It returns up to one byte more than an id
// has, so that a longer file is not taken for an id.
func get(path string) ([]byte, error) {
	// O_NONBLOCK keeps the open from waiting for a writer if another user has made a pipe there.
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
		return nil, fmt.Errorf("%s is not a file (remove it)", path)
	case int(owner) != me:
		return nil, fmt.Errorf("%s belongs to user %d, and this is user %d (ask that user to remove it, or name a folder that others cannot write to)", path, owner, me)
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

// follow does the work of Join on the other PEs: it repeats attempt until the PE has joined or
// Timeout has passed.
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
		// If an attempt has found the file, its error says more than that the file is missing now.
		if last == nil || !errors.Is(err, fs.ErrNotExist) {
			last = err
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			if errors.Is(last, fs.ErrNotExist) {
				step := "join job by " + o.Path + ", which is not there"
				return nil, &bootstrap.MissingError{Step: step, Missing: []libshmem.PE{0}, Waited: o.Timeout}
			}
			return nil, last
		}
	}
}

// attempt reads the file once and tries to join by the unique id in it. The id may be that of an
// earlier job, so a try takes a limited time.
func (o *Options) attempt() (*uid.Member, error) {
	b, err := get(o.Path)
	if err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	if len(b) != uid.Len {
		return nil, fmt.Errorf("join job: %s does not contain a unique id of %d bytes (remove it, or name another in %s)", o.Path, uid.Len, cmp.Or(o.Setting, Env))
	}
	return o.join(uid.ID(b), min(try, o.Timeout))
}
