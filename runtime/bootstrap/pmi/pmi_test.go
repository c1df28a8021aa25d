package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/tests/mutate"
)

// stepTimeout is more than any step takes that goes well.
const stepTimeout = 30 * time.Second

// dialects runs a test with a server of each kind.
func dialects(t *testing.T, run func(t *testing.T, slurm bool)) {
	for name, slurm := range map[string]bool{"hydra": false, "slurm": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, slurm)
		})
	}
}

// contribution returns the part of a PE in a step: of all lengths, and of all bytes.
func contribution(step, pe int) []byte {
	b := make([]byte, (step*step*step*97+pe*13)%9000)
	for i := range b {
		b[i] = byte(i*7 + pe + step)
	}
	return b
}

// steps takes a PE through collective calls and compares all that it gets.
func steps(c *Client) error {
	for step := range 12 {
		all, err := c.Allgather(contribution(step, int(c.Rank())))
		if err != nil {
			return err
		}
		for pe := range c.Size() {
			if !bytes.Equal(all[pe], contribution(step, pe)) {
				return fmt.Errorf("step %d, PE %d: %d bytes of PE %d, not what it gave", step, c.Rank(), len(all[pe]), pe)
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	return c.LeaveBarrier()
}

func TestSteps(t *testing.T) {
	dialects(t, func(t *testing.T, slurm bool) {
		const size = 4
		s := newServer(t, size, slurm)
		var envs []map[string]string
		for pe := range size {
			if pe%2 == 0 || slurm { // Slurm has no PMI_PORT
				envs = append(envs, s.env(pe))
			} else {
				envs = append(envs, s.port(pe))
			}
		}
		secrets := make([]string, size)
		for pe, err := range each(envs, stepTimeout, func(c *Client) error {
			secrets[c.Rank()] = string(c.Secret()[:])
			if c.Size() != size || c.Name() != "pmi" {
				return fmt.Errorf("%s: PE %d of %d", c.Name(), c.Rank(), c.Size())
			}
			return steps(c)
		}) {
			if err != nil {
				t.Errorf("PE %d: %v", pe, err)
			}
		}
		if len(slices.Compact(secrets)) != 1 || secrets[0] == string(make([]byte, 32)) {
			t.Errorf("secrets %q", secrets)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.longest > maxLine {
			t.Errorf("a line has %d bytes, more than %d", s.longest, maxLine)
		}
	})
}

// One conversation serves the bootstraps of a process one after the other, and ends
// with the process.
func TestAgain(t *testing.T) {
	s := newServer(t, 1, true)
	env := s.env(0)
	secrets := map[string]bool{}
	for range 3 {
		c, err := New(env, stepTimeout)
		if err != nil {
			t.Fatal(err)
		}
		secrets[string(c.Secret()[:])] = true
		if err := steps(c); err != nil {
			t.Error(err)
		}
		if _, err := New(env, stepTimeout); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("a second one at a time: %v", err)
		}
		Depart()
		if s.leavers() != 0 {
			t.Error("finalizes while a bootstrap is open")
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if c.Over() {
			t.Error("over, though the launcher is there")
		}
	}
	if len(secrets) != 3 {
		t.Errorf("%d secrets of 3 jobs", len(secrets))
	}
	Depart()
	Depart()
	if n := s.leavers(); n != 1 {
		t.Errorf("finalizes %d times", n)
	}
	process.busy = false // as in a new process

	s = newServer(t, 2, true) // and the other PE does not come
	if _, err := New(s.env(0), 100*time.Millisecond); err == nil {
		t.Error("a job without one of its PEs")
	}
	Depart()
	for deadline := time.Now().Add(stepTimeout); len(s.aborted()) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if a := s.aborted(); !slices.Equal(a, []string{"1"}) || s.leavers() != 0 {
		t.Errorf("after a failure: aborts %q, %d finalize", a, s.leavers())
	}
}

// lateness is the most time between the first and the last of the PEs that come.
const lateness = 4 * time.Second

// A PE that does not come is named by each PE that did, at the first step and later.
func TestMissing(t *testing.T) {
	dialects(t, func(t *testing.T, slurm bool) {
		const size = 6
		for _, c := range []struct {
			name  string
			first bool // they miss the first step
			gone  []libshmem.PE
			want  string
		}{
			{"init", true, []libshmem.PE{1, 4}, "allgather 1: PEs 1, 4 did not come within"},
			{"later", false, []libshmem.PE{3}, "barrier 3: PE 3 did not come within"},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, size, slurm)
				envs := make([]map[string]string, size)
				for pe := range libshmem.PE(size) {
					if !c.first || !slices.Contains(c.gone, pe) {
						envs[pe] = s.env(int(pe))
					}
				}
				errs := each(envs, lateness, func(p *Client) error {
					if _, err := p.Allgather([]byte("here")); err != nil {
						return err
					}
					if slices.Contains(c.gone, p.Rank()) {
						return nil
					}
					return p.Barrier()
				})
				for pe, err := range libshmem.ByPE(errs) {
					if slices.Contains(c.gone, pe) {
						continue
					}
					var m *bootstrap.MissingError
					if !errors.As(err, &m) || !slices.Equal(m.Missing, c.gone) || !strings.Contains(err.Error(), c.want) {
						t.Errorf("PE %d: %v", pe, err)
					}
				}
			})
		}
	})
}

// A PE that comes after the others have begun to publish is waited for.
func TestLate(t *testing.T) {
	s := newServer(t, 2, false)
	late := s.env(1)
	done := make(chan error)
	go func() {
		c, err := start(s.env(0), 2*publishAfter+stepTimeout)
		if err == nil {
			err = steps(c)
		}
		done <- err
	}()
	for told := 0; told == 0; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		told = len(s.names)
		s.mu.Unlock()
	}
	c, err := start(late, stepTimeout)
	if err == nil {
		err = steps(c)
	}
	if err := errors.Join(err, <-done); err != nil {
		t.Error(err)
	}
}

func TestAbort(t *testing.T) {
	s := newServer(t, 1, false)
	c, err := start(s.env(0), stepTimeout)
	if err != nil {
		t.Fatal(err)
	}
	c.Abort(7, "a reason")
	c.Exit(0)
	if err := c.Barrier(); err != nil { // the server has read everything sent before
		t.Error(err)
	}
	if a := s.aborted(); !slices.Equal(a, []string{"7", "0"}) {
		t.Errorf("aborts %q", a)
	}
}

// When the launcher goes, a PE that waits says so, and the next step does too.
func TestLauncherDies(t *testing.T) {
	s := newServer(t, 2, false)
	s.reply = func(_ int, answer string) (string, bool) { return answer, !strings.HasPrefix(answer, "cmd=put_result") }
	env := s.env(0)
	j, err := join(env, stepTimeout)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{s: j, timeout: stepTimeout, release: func() {}}
	for range 2 {
		if _, err := c.Allgather(nil); !errors.Is(err, errGone) {
			t.Errorf("%v", err)
		}
	}
	if !c.Over() {
		t.Error("not over, though the launcher is gone")
	}
}

// A wrong reply of a server is an error that shows it, at once, and no panic.
func TestBadReplies(t *testing.T) {
	for _, c := range []struct {
		at, say string
		want    string // of the error
	}{
		{"response_to_init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", `PMI version "2"`},
		{"response_to_init", "cmd=response_to_init pmi_version=1 rc=-1\n", `rc="-1"`},
		{"response_to_init", "hello\n", `does not begin with NAME=VALUE`},
		{"response_to_init", "=1 cmd=response_to_init\n", `has a value without a name`},
		{"response_to_init", "\n", `has no cmd=`},
		{"response_to_init", "cmd=response_to_init cmd=maxes\n", `has two values of "cmd"`},
		{"response_to_init", "cmd=maxes vallen_max=1024\n", `cmd="maxes" in place of cmd=response_to_init`},
		{"response_to_init", strings.Repeat("x=y ", 5000), `has no end after`},
		{"maxes", "cmd=maxes kvsname_max=256\n", `vallen_max=""`},
		{"maxes", "cmd=maxes vallen_max=many\n", `vallen_max="many"`},
		{"maxes", "cmd=maxes vallen_max=16\n", `values have at most 16 bytes`},
		{"my_kvsname", "cmd=my_kvsname kvsname=\n", `key-value space ""`},
		{"put_result", "cmd=put_result rc=-1 msg=no room left\n", `"no room left"`},
		{"barrier_out", "cmd=barrier_out rc=1\n", `ends the barrier with rc="1"`},
		{"barrier_out", "cmd=get_result rc=0 value=1.AA\n", `cmd="get_result" in a barrier`},
		{"get_result", "cmd=get_result rc=1\n", `the values of PE 1: the launcher answers get_result with rc="1"`},
		{"get_result", "cmd=get_result rc=0\n", `value "" does not begin with the number of values`},
		{"get_result", "cmd=get_result rc=0 value=-1.AA\n", `does not begin with the number`},
		{"get_result", "cmd=get_result rc=0 value=99999999.AA\n", `does not begin with the number`},
		{"get_result", "cmd=get_result rc=0 value=1.A*\n", `not base64`},
		{"get_result", "cmd=get_result rc=0 val", "in the middle of"},
	} {
		s := newServer(t, 2, true)
		ended := strings.HasSuffix(c.say, "\n") || len(c.say) > maxReply
		s.reply = func(rank int, answer string) (string, bool) {
			if rank != 1 && strings.HasPrefix(answer, "cmd="+c.at) {
				return c.say, ended
			}
			return answer, true
		}
		errs := make(chan error, 1)
		other := s.env(1)
		go func() { _, err := start(other, stepTimeout); errs <- err }()
		began := time.Now()
		_, err := start(s.env(0), stepTimeout)
		if c.at == "barrier_out" && err == nil {
			err = <-errs // PE 0 may be the last to come, to whom the server answers as itself
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: %v, not %s", c.at, show(c.say), err, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "no answer came") || time.Since(began) > stepTimeout/2 {
			t.Errorf("%s: %s: waits: %v", c.at, show(c.say), err)
		}
	}
}

// A server that answers byte by byte is understood; one that does not answer is
// given up.
func TestSlow(t *testing.T) {
	s := newServer(t, 1, true)
	s.reply = func(_ int, answer string) (string, bool) {
		time.Sleep(time.Millisecond)
		return answer, true
	}
	c, err := start(s.env(0), stepTimeout)
	if err == nil {
		err = steps(c)
	}
	if err != nil {
		t.Error(err)
	}
	s = newServer(t, 1, true)
	s.reply = func(_ int, answer string) (string, bool) {
		return answer[:len(answer)-1], true
	}
	if _, err := start(s.env(0), 50*time.Millisecond); !errors.Is(err, errLate) || !strings.Contains(err.Error(), `"cmd=response_to_init"`) {
		t.Errorf("half an answer: %v", err)
	}
}

func TestBadEnvironment(t *testing.T) {
	s := newServer(t, 2, false)
	for _, c := range []struct {
		change map[string]string
		want   string
	}{
		{map[string]string{EnvFD: "x"}, `PMI_FD="x"`},
		{map[string]string{EnvFD: "-1"}, `PMI_FD="-1"`},
		{map[string]string{EnvFD: "99999"}, `descriptor 99999 is not the launcher's`},
		{map[string]string{EnvFD: "0"}, `descriptor 0 is not the launcher's`},
		{map[string]string{EnvSize: "0"}, `PMI_SIZE="0"`},
		{map[string]string{EnvSize: ""}, `PMI_SIZE=""`},
		{map[string]string{EnvRank: "2"}, `PMI_RANK="2"`},
		{map[string]string{EnvRank: "99999999999999999999"}, `PMI_RANK=`},
		{map[string]string{EnvFD: "", EnvPort: "127.0.0.1"}, `PMI_PORT=127.0.0.1`},
		{map[string]string{EnvFD: "", EnvPort: "127.0.0.1:1"}, `connection refused`},
	} {
		env := s.env(0)
		for name, value := range c.change {
			env[name] = value
		}
		if _, err := join(env, stepTimeout); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.change, err)
		}
	}
	env := s.port(0)
	env[EnvID] = "7"
	if _, err := join(env, stepTimeout); err == nil || !strings.Contains(err.Error(), `rank="7"`) {
		t.Errorf("the launcher gives a rank that there is not: %v", err)
	}
}

func TestCut(t *testing.T) {
	for _, room := range []int{8, 32, 100, 850} {
		for n := range 2000 {
			mine := bytes.Repeat([]byte{0xff}, n)
			values := encodeValues(mine, room)
			for _, v := range values {
				if len(v) > room || strings.ContainsAny(v, " =\n") {
					t.Fatalf("%d bytes in values of %d: %q", n, room, v)
				}
			}
			asked := 0
			got, err := decodeValues(func(part int) (string, error) { asked++; return values[part], nil })
			if err != nil || !bytes.Equal(got, mine) || asked != len(values) {
				t.Fatalf("%d bytes in values of %d: %v, %d of %d values asked for", n, room, err, asked, len(values))
			}
		}
	}
}

// Whatever a launcher sends, a line is understood in one way or refused.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1", "rc=0 cmd=maxes vallen_max=1024",
		"cmd=get_result rc=-1 msg=key_a-1_not_found value=unknown", "cmd=put_result rc=1 msg=no room left",
		"", "=", "cmd", "cmd=", "cmd=a cmd=b", "a b=c", "cmd=x =y", "cmd=a=b=c", "\x00cmd=a\x00", "cmd=\xff",
	} {
		f.Add(line)
	}
	f.Fuzz(parseChanged)
}

func parseChanged(t *testing.T, line string) {
	r, err := parse(line)
	if err != nil {
		if !errors.Is(err, errFormat) || len(err.Error()) > 1000 {
			t.Errorf("%q: %v", line, err)
		}
		return
	}
	_ = r.failed()
	var fields []string
	for name, value := range r.fields {
		if name != "cmd" {
			fields = append(fields, name, value)
		}
	}
	again, err := parse(strings.TrimSuffix(command(r.cmd, fields...), "\n"))
	if err != nil || again.cmd != r.cmd || len(again.fields) != len(r.fields) {
		t.Errorf("%q: %v, written and read again %v, %v", line, r, again, err)
	}
}

// Values come from other PEs by way of the launcher.
func FuzzPaste(f *testing.F) {
	f.Add("1.AA", "")
	f.Add("2.AA", "BB")
	f.Add("x", "")
	f.Add("1048576.", "")
	f.Fuzz(pasteChanged)
}

func pasteChanged(t *testing.T, first, second string) {
	b, err := decodeValues(func(part int) (string, error) {
		switch part {
		case 0:
			return first, nil
		case 1:
			return second, nil
		}
		return "", errGone
	})
	if err == nil && len(b) > len(first)+len(second) {
		t.Errorf("%q, %q: %d bytes", first, second, len(b))
	}
}

// TestMutations is FuzzParse and FuzzPaste for changed lines and values.
func TestMutations(t *testing.T) {
	lines := [][]byte{
		[]byte("cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"), []byte("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"),
		[]byte("cmd=get_result rc=-1 msg=key_a-1_not_found value=unknown"),
	}
	mutate.Each(t, lines, func(in []byte) { parseChanged(t, string(in)) })
	values := [][]byte{[]byte("2.QUJD|REVG"), []byte("1.QUJDREVG|")}
	mutate.Each(t, values, func(in []byte) {
		first, second, _ := strings.Cut(string(in), "|")
		pasteChanged(t, first, second)
	})
}
