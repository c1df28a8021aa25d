package pmi

import (
	"fmt"
	"strconv"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
)

// The variables that a launcher sets: EnvFD, or EnvPort and EnvID.
const (
	EnvFD   = "PMI_FD"   // number of the inherited descriptor
	EnvPort = "PMI_PORT" // host:port to connect to
	EnvID   = "PMI_ID"   // the PE that connects
	EnvRank = "PMI_RANK" // not set with EnvPort: see introduce
	EnvSize = "PMI_SIZE" // not set with EnvPort
)

// session is this process's connection to the launcher, and what the launcher has sent about the
// job.
type session struct {
	conn  *conn
	rank  libshmem.PE
	size  int
	kvs   string // name of the job's key-value space
	room  int    // the most bytes of a value that this package puts
	steps bootstrap.Steps
}

// maxLine is the most bytes of a line with a put command: Slurm loses the value of a line that is
// longer than 1024 bytes.
const maxLine = 900

// maxPEs is the most PEs that a launcher may report.
const maxPEs = 1 << 24

// join connects to the launcher that env, the environment of the process, describes.
func join(env map[string]string, timeout time.Duration) (*session, error) {
	end := deadline(timeout)
	s := &session{rank: libshmem.NoPE}
	if err := s.connect(env, timeout); err != nil {
		return nil, err
	}
	if err := s.greet(env, end); err != nil {
		s.conn.close()
		return nil, err
	}
	return s, nil
}

// deadline returns when a timeout is over; the zero time, which means never, for 0.
func deadline(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// connect opens the connection to the launcher, by the inherited descriptor or to the port.
func (s *session) connect(env map[string]string, timeout time.Duration) (err error) {
	if env[EnvFD] != "" {
		fd, err := number(env, EnvFD, 0, 1<<30)
		if err != nil {
			return err
		}
		s.conn, err = openInherited(fd)
		return err
	}
	if s.conn, err = dial(env[EnvPort], timeout); err != nil {
		return fmt.Errorf("connect to the launcher (%s=%s): %w (the launcher may have ended)", EnvPort, env[EnvPort], err)
	}
	return nil
}

// greet begins the protocol: it gets the rank, the size, the key-value space and the length of its
// values.
func (s *session) greet(env map[string]string, end time.Time) (err error) {
	if env[EnvFD] != "" {
		if s.size, err = number(env, EnvSize, 1, maxPEs); err != nil {
			return err
		}
		if s.rank, err = rank(env, EnvRank, s.size); err != nil {
			return err
		}
	} else if err = s.introduce(env, end); err != nil {
		return err
	}
	r, err := s.request(end, "response_to_init", command("init", "pmi_version", "1", "pmi_subversion", "1"))
	if err != nil {
		return err
	}
	if v := r.fields["pmi_version"]; v != "1" {
		return fmt.Errorf("%w: PMI version %s in place of 1", errFormat, show(v))
	}
	if r, err = s.request(end, "maxes", command("get_maxes")); err != nil {
		return err
	}
	maxValue, err := number(r.fields, "vallen_max", 0, 1<<30)
	if err != nil {
		return err
	}
	if r, err = s.request(end, "my_kvsname", command("get_my_kvsname")); err != nil {
		return err
	}
	if s.kvs = r.fields["kvsname"]; s.kvs == "" || len(s.kvs) > 256 {
		return fmt.Errorf("%w: key-value space %s", errFormat, show(s.kvs))
	}
	// Leave room for the longest key, which has the largest numbers. The launcher counts a NUL at
	// the end of a value.
	s.room = min(maxLine-len(s.put(s.key(1<<30, maxPEs, 1<<20), "")), maxValue-1)
	if s.room < 32 {
		return fmt.Errorf("%w: values have at most %d bytes", errFormat, maxValue)
	}
	return nil
}

// introduce tells the launcher which PE has connected to PMI_PORT, and gets the rank and the size.
// With an inherited descriptor the launcher knows the PE, and sets variables for both.
func (s *session) introduce(env map[string]string, end time.Time) error {
	id, err := number(env, EnvID, 0, maxPEs)
	if err != nil {
		return err
	}
	if _, err := s.request(end, "initack", command("initack", "pmiid", strconv.Itoa(id))); err != nil {
		return err
	}
	values := map[string]string{}
	for range 3 { // size, rank, debug
		r, err := s.expect(end, "set")
		if err != nil {
			return err
		}
		for name, value := range r.fields {
			values[name] = value
		}
	}
	if s.size, err = number(values, "size", 1, maxPEs); err == nil {
		s.rank, err = rank(values, "rank", s.size)
	}
	return err
}

// number reads a number, from low to high, from a launcher's variables or lines.
func number(from map[string]string, name string, low, high int) (int, error) {
	n, err := strconv.Atoi(from[name])
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%w: %s=%s is not a number from %d to %d (the launcher's variables contradict each other, or were changed)",
			errFormat, name, show(from[name]), low, high)
	}
	return n, nil
}

// rank reads the rank of this PE in a job of size PEs.
func rank(from map[string]string, name string, size int) (libshmem.PE, error) {
	n, err := number(from, name, 0, size-1)
	return libshmem.PE(n), err
}

// request sends a command, line, and waits for its reply, whose cmd must be want.
func (s *session) request(end time.Time, want, line string) (reply, error) {
	if err := s.conn.send(line); err != nil {
		return reply{}, err
	}
	return s.expect(end, want)
}

// expect waits for a reply of the launcher. It returns an error unless the reply's cmd is want and
// it reports success.
func (s *session) expect(end time.Time, want string) (reply, error) {
	r, err := s.conn.read(end)
	switch {
	case err == errLate:
		return reply{}, fmt.Errorf("wait for %q of the launcher: %w", "cmd="+want, err)
	case err != nil:
		return reply{}, err
	case r.cmd != want:
		return reply{}, fmt.Errorf("%w: cmd=%s in place of cmd=%s", errFormat, show(r.cmd), want)
	}
	if why := r.failed(); why != "" {
		return r, fmt.Errorf("the launcher answers %s with %s", want, why)
	}
	return r, nil
}

// readGrace is how long abort waits first, so that the launcher reads this process's output: Hydra
// ends the job at once, and loses what is in the pipes.
const readGrace = 250 * time.Millisecond

// abort tells the launcher to end the job, to which there is no reply. Slurm ignores
// the status.
func (s *session) abort(status int) {
	time.Sleep(readGrace)
	_ = s.conn.send(command("abort", "exitcode", strconv.Itoa(status)))
}

// leave ends the connection in good order. It reports no error, because the process ends.
func (s *session) leave() {
	_, _ = s.request(time.Now().Add(5*time.Second), "finalize_ack", command("finalize"))
	s.conn.close()
}
