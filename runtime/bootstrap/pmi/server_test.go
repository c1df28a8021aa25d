package pmi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// server simulates the launcher of one job, as Hydra or as Slurm.
type server struct {
	t     *testing.T
	size  int
	slurm bool
	// reply, if set, may change the answer that is sent, or end the connection.
	reply func(rank int, answer string) (string, bool)

	mu      sync.Mutex
	staged  map[string]string // put since the last barrier
	space   map[string]string
	names   map[string]string
	waiting []io.Writer
	aborts  []string
	left    int // that have finalized
	longest int // line
}

func newServer(t *testing.T, size int, slurm bool) *server {
	return &server{t: t, size: size, slurm: slurm, staged: map[string]string{}, space: map[string]string{}, names: map[string]string{}}
}

// env returns the environment of a PE that inherits a descriptor.
func (s *server) env(rank int) map[string]string {
	s.t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "launcher")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close(); unix.Close(fds[1]) })
	go s.serve(c, rank)
	return map[string]string{EnvFD: strconv.Itoa(fds[1]), EnvRank: strconv.Itoa(rank), EnvSize: strconv.Itoa(s.size)}
}

// port returns the environment of a PE that connects.
func (s *server) port(rank int) map[string]string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			s.t.Cleanup(func() { c.Close() })
			s.serve(c, rank)
		}
	}()
	return map[string]string{EnvPort: l.Addr().String(), EnvID: strconv.Itoa(rank)}
}

func (s *server) serve(c net.Conn, rank int) {
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		for _, answer := range s.answers(c, line, rank) {
			if !s.send(c, rank, answer) {
				c.Close()
				return
			}
		}
	}
}

func (s *server) send(c io.Writer, rank int, answer string) bool {
	if s.reply != nil {
		var goOn bool
		if answer, goOn = s.reply(rank, answer); !goOn {
			io.WriteString(c, answer)
			return false
		}
	}
	_, err := io.WriteString(c, answer)
	return err == nil
}

func (s *server) leavers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s *server) aborted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.aborts)
}

// say builds an answer. Where Slurm says rc=0, Hydra says nothing or says it last.
func (s *server) say(cmd, fields string) []string {
	if s.slurm {
		return []string{strings.TrimRight("cmd="+cmd+" rc=0 "+fields, " ") + "\n"}
	}
	return []string{strings.TrimRight("cmd="+cmd+" "+fields, " ") + "\n"}
}

func (s *server) answers(c io.Writer, line string, rank int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, len(line))
	f := map[string]string{}
	for _, w := range strings.Fields(line) {
		k, v, _ := strings.Cut(w, "=")
		f[k] = v
	}
	switch f["cmd"] {
	case "initack":
		return []string{"cmd=initack\n", fmt.Sprintf("cmd=set size=%d\n", s.size), "cmd=set rank=" + f["pmiid"] + "\n", "cmd=set debug=0\n"}
	case "init":
		if s.slurm {
			return s.say("response_to_init", "pmi_version=1 pmi_subversion=1")
		}
		return s.say("response_to_init", "pmi_version=1 pmi_subversion=1 rc=0")
	case "get_maxes":
		return s.say("maxes", "kvsname_max=256 keylen_max=64 vallen_max=1024")
	case "get_my_kvsname":
		return s.say("my_kvsname", "kvsname=kvs_1")
	case "put":
		if !s.slurm || len(line) <= 1024 { // else it is lost, and no word of it
			s.staged[f["key"]] = f["value"]
		}
		if s.slurm {
			return s.say("put_result", "")
		}
		return s.say("put_result", "rc=0 msg=success")
	case "get":
		v, ok := s.space[f["key"]]
		switch {
		case ok && s.slurm:
			return s.say("get_result", "value="+v)
		case ok:
			return s.say("get_result", "rc=0 msg=success value="+v)
		case s.slurm:
			return []string{"cmd=get_result rc=1\n"}
		}
		return s.say("get_result", "rc=-1 msg=key_"+f["key"]+"_not_found value=unknown")
	case "barrier_in":
		s.waiting = append(s.waiting, c)
		if len(s.waiting) == s.size {
			for k, v := range s.staged {
				s.space[k] = v
			}
			for _, w := range s.waiting {
				if w != c {
					s.send(w, -1, s.say("barrier_out", "")[0])
				}
			}
			s.waiting = nil
			return s.say("barrier_out", "")
		}
		return nil
	case "publish_name":
		s.names[f["service"]] = f["port"]
		if s.slurm {
			return []string{"cmd=publish_result info=ok\n"}
		}
		return s.say("publish_result", "info=ok rc=0 msg=success")
	case "lookup_name":
		port, ok := s.names[f["service"]]
		switch {
		case ok && s.slurm:
			return []string{"cmd=lookup_result info=ok port=" + port + "\n"}
		case ok:
			return s.say("lookup_result", "port="+port+" info=ok rc=0 msg=success")
		case s.slurm:
			return []string{"cmd=lookup_result info=fail\n"}
		}
		return s.say("lookup_result", "rc=1 msg=service_not_found")
	case "finalize":
		s.left++
		return s.say("finalize_ack", "")
	case "abort":
		s.aborts = append(s.aborts, f["exitcode"])
		return nil
	}
	s.t.Errorf("PE %d sends %q", rank, line)
	return nil
}

// start makes a PE.
func start(env map[string]string, timeout time.Duration) (*Client, error) {
	s, err := join(env, timeout)
	if err != nil {
		return nil, err
	}
	return open(s, timeout, func() {})
}

// each runs the PEs of a job whose environment is not nil, and returns their errors.
func each(envs []map[string]string, timeout time.Duration, run func(*Client) error) []error {
	errs := make([]error, len(envs))
	var all sync.WaitGroup
	for i, env := range envs {
		if env == nil {
			continue
		}
		all.Go(func() {
			c, err := start(env, timeout)
			if err == nil {
				err = run(c)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errs
}
