package launcher

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
)

// peer is shmemrun's end of a client's socket.
type peer struct {
	t testing.TB
	f *os.File
}

var jobSecret = secret.New()

// pair returns a client, PE 1 of 3, and the other end of its socket.
func pair(t testing.TB) (*Client, *peer) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t, os.NewFile(uintptr(fds[0]), "shmemrun")}
	t.Cleanup(func() { p.f.Close() })
	p.answer(wire.Frame{Kind: wire.Lost, Payload: wire.Loss{PE: 0}.Append(nil)}) // of an earlier program
	p.answer(wire.Frame{Kind: wire.Welcome, Payload: wire.Admission{Secret: jobSecret}.Append(nil)})
	c, err := New(fds[1], 1, 3, 5*time.Second, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	g, err := wire.ParseGreeting(p.expect(wire.Hello, 0))
	if want := (wire.Greeting{PE: 1, Size: 3, Timeout: 5 * time.Second, Survives: true, PID: os.Getpid()}); err != nil || g != want {
		t.Fatalf("greeting %+v, %v, want %+v", g, err, want)
	}
	return c, p
}

func (p *peer) expect(kind wire.Kind, seq uint32) []byte {
	p.t.Helper()
	f, err := wire.Read(p.f)
	if err != nil || f.Kind != kind || f.Seq != seq {
		p.t.Errorf("got %v %d, %v, want %v %d", f.Kind, f.Seq, err, kind, seq)
	}
	return f.Payload
}

func (p *peer) answer(f wire.Frame) {
	p.t.Helper()
	b, err := wire.Append(nil, f)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.f.Write(b); err != nil {
		p.t.Error(err)
	}
}

// TestListenDuringSteps has another goroutine read notices all the time, and shmemrun reply to each
// step at once: the reply must never be taken for a notice.
func TestListenDuringSteps(t *testing.T) {
	c, p := pair(t)
	const steps = 20_000
	go func() {
		for seq := range uint32(steps) {
			p.expect(wire.Barrier, seq+1)
			p.answer(wire.Frame{Kind: wire.Released, Seq: seq + 1})
		}
	}()
	end := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				c.Losses()
			}
		}
	})
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < steps && err == nil; i++ {
			err = c.Barrier()
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a step waits for a reply that the other goroutine has taken")
	}
	close(end)
	listening.Wait()
}

func TestSteps(t *testing.T) {
	c, p := pair(t)
	go func() {
		mine := p.expect(wire.Gather, 1)
		p.answer(wire.Frame{Kind: wire.Gathered, Seq: 1, Payload: wire.AppendParts(nil, [][]byte{{}, mine, []byte("c")})})
		p.expect(wire.Barrier, 2)
		p.answer(wire.Frame{Kind: wire.Released, Seq: 2})
	}()
	all, err := c.Allgather([]byte("mine"))
	if err != nil || len(all) != 3 || len(all[0]) != 0 || string(all[1]) != "mine" || string(all[2]) != "c" {
		t.Errorf("allgather: %q, %v", all, err)
	}
	if err := c.Barrier(); err != nil {
		t.Errorf("barrier: %v", err)
	}
	if c.Rank() != 1 || c.Size() != 3 || c.Name() != "launcher" {
		t.Errorf("%s: PE %d of %d", c.Name(), c.Rank(), c.Size())
	}
}

// A stopped shmemrun does not answer: the PE says so, and goes on waiting.
func TestLate(t *testing.T) {
	c, p := pair(t)
	c.timeout = time.Millisecond
	c.late = func(text string) {
		want := "barrier 1: shmemrun has not answered for 2.001s, and should have named the missing PEs after 1ms (check whether it is stopped; the wait goes on)"
		if text != want {
			t.Errorf("it says %q, not %q", text, want)
		}
		p.expect(wire.Barrier, 1)
		p.answer(wire.Frame{Kind: wire.Released, Seq: 1})
	}
	if err := c.Barrier(); err != nil {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	c, p := pair(t)
	go func() {
		p.expect(wire.Gather, 1)
		p.answer(wire.Frame{Kind: wire.Missing, Seq: 1, Payload: wire.Absence{Waited: 2 * time.Second, PEs: []libshmem.PE{0, 2}}.Append(nil)})
	}()
	_, err := c.Allgather(nil)
	m, ok := errors.AsType[*bootstrap.MissingError](err)
	if !ok || m.Step != "allgather 1" || len(m.Missing) != 2 || m.Missing[1] != 2 || m.Waited != 2*time.Second {
		t.Errorf("%v, want PEs 0 and 2 missing after 2s in allgather 1", err)
	}
}

func TestPeerFailed(t *testing.T) {
	c, p := pair(t)
	go func() {
		p.expect(wire.Barrier, 1)
		p.answer(wire.Frame{Kind: wire.PeerFailed, Seq: 1, Payload: wire.Loss{PE: 2, Outcome: wire.Outcome{How: wire.Killed, Code: 9}}.Append(nil)})
	}()
	err := c.Barrier()
	e, ok := errors.AsType[*bootstrap.PeerError](err)
	if !ok || e.PE != 2 || e.Reason != "was killed by signal 9 (killed)" {
		t.Errorf("%v, want PE 2 killed by signal 9", err)
	}
}

func TestBadAnswers(t *testing.T) {
	for _, c := range []struct {
		name, want string
		answer     wire.Frame
	}{
		{"refused", "allgather 1: because", wire.Frame{Kind: wire.Refused, Seq: 1, Payload: []byte("because")}},
		{"other step", "answer to step 7", wire.Frame{Kind: wire.Gathered, Seq: 7}},
		{"other kind", "unexpected barrier release", wire.Frame{Kind: wire.Released, Seq: 1}},
		{"malformed result", "malformed", wire.Frame{Kind: wire.Gathered, Seq: 1, Payload: []byte{1}}},
		{"result of another size", "2 contributions from 3 PEs", wire.Frame{Kind: wire.Gathered, Seq: 1, Payload: wire.AppendParts(nil, make([][]byte, 2))}},
		{"malformed absence", "malformed", wire.Frame{Kind: wire.Missing, Seq: 1}},
		{"malformed loss", "malformed", wire.Frame{Kind: wire.PeerFailed, Seq: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, p := pair(t)
			go func() {
				p.expect(wire.Gather, 1)
				p.answer(c.answer)
			}()
			if _, err := cl.Allgather(nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestLauncherGone(t *testing.T) {
	c, p := pair(t)
	go func() {
		p.expect(wire.Gather, 1)
		p.f.Close()
	}()
	if _, err := c.Allgather(nil); !errors.Is(err, ErrGone) {
		t.Errorf("while waiting: %v", err)
	}
	// Would raise SIGPIPE, and end the program, if it were written plainly.
	if err := c.Barrier(); !errors.Is(err, ErrGone) {
		t.Errorf("afterwards: %v", err)
	}
	c.Abort(1, "shmemrun is gone")
}

// A thread may call shmem_global_exit while another waits in a collective.
func TestAbortDuringStep(t *testing.T) {
	c, p := pair(t)
	result := make(chan error)
	go func() { result <- c.Barrier() }()
	p.expect(wire.Barrier, 1)
	c.Abort(7, "enough")
	e, err := wire.ParseEnding(p.expect(wire.Abort, 0))
	if err != nil || e.Status != 7 || e.Reason != "enough" {
		t.Errorf("abort %+v, %v", e, err)
	}
	c.Exit(0)
	if e, err := wire.ParseEnding(p.expect(wire.Exit, 0)); err != nil || e.Status != 0 {
		t.Errorf("exit %+v, %v", e, err)
	}
	p.f.Close()
	if err := <-result; !errors.Is(err, ErrGone) {
		t.Errorf("the barrier ended with %v", err)
	}
}

func TestOver(t *testing.T) {
	c, p := pair(t)
	if c.Over() {
		t.Error("over before anything happened")
	}
	// An unread answer is not the end.
	p.answer(wire.Frame{Kind: wire.Released, Seq: 1})
	if c.Over() {
		t.Error("an answer is taken for the end")
	}
	raw, err := p.f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		t.Fatal(err)
	}
	if err != nil || !c.Over() {
		t.Errorf("not over after shmemrun has hung up (%v)", err)
	}
	if err := c.Barrier(); err != nil {
		t.Errorf("the answer before the end is lost: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if c.Over() {
		t.Error("a connection that is closed says that the job is over")
	}
}

func TestFail(t *testing.T) {
	c, p := pair(t)
	c.Fail()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	p.expect(wire.Fail, 0)
}

func TestClose(t *testing.T) {
	c, p := pair(t)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	p.expect(wire.Done, 0)
	if err := c.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := c.Allgather(nil); err == nil {
		t.Error("allgather after close succeeded")
	}
}

func TestDescriptor(t *testing.T) {
	c, _ := pair(t)
	flags, err := unix.FcntlInt(uintptr(c.conn.fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: a program that the PE starts would inherit the socket", flags, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	udp, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(udp)
	for name, fd := range map[string]int{"closed": 1 << 20, "a file": int(null.Fd()), "a datagram socket": udp} {
		if _, err := New(fd, 0, 1, 0, false, nil); err == nil || !strings.Contains(err.Error(), EnvFD) {
			t.Errorf("%s: %v, want an error that names %s", name, err, EnvFD)
		}
	}
	if _, err := New(c.conn.fd, 3, 3, 0, false, nil); err == nil || !strings.Contains(err.Error(), "PE 3 of 3") {
		t.Errorf("PE 3 of 3: %v", err)
	}
}

func TestContributionTooLong(t *testing.T) {
	c, p := pair(t)
	if _, err := c.Allgather(make([]byte, wire.MaxContribution+1)); err == nil {
		t.Error("it was taken")
	}
	go func() {
		p.expect(wire.Barrier, 1)
		p.answer(wire.Frame{Kind: wire.Released, Seq: 1})
	}()
	if err := c.Barrier(); err != nil {
		t.Errorf("the connection is spoilt by it: %v", err)
	}
}

func loss(pe libshmem.PE, code int) wire.Frame {
	return wire.Frame{Kind: wire.Lost, Payload: wire.Loss{PE: pe, Outcome: wire.Outcome{How: wire.Killed, Code: code}}.Append(nil)}
}

// Notices come at any moment: between steps, and in the middle of one.
func TestLosses(t *testing.T) {
	c, p := pair(t)
	if *c.Secret() != jobSecret {
		t.Error("the secret is not what shmemrun said")
	}
	if l := c.Losses(); l != nil {
		t.Errorf("%v lost before anything happened", l)
	}
	p.answer(loss(2, 9))
	p.answer(loss(0, 11))
	if l := c.Losses(); len(l) != 2 || l[0].PE != 2 || l[1].Reason != "was killed by signal 11 (segmentation fault)" {
		t.Errorf("losses %v, want of PEs 2 and 0", l)
	}
	go func() {
		p.expect(wire.LeaveBarrier, 1)
		p.answer(loss(2, 15))
		p.answer(wire.Frame{Kind: wire.Released, Seq: 1})
	}()
	if err := c.LeaveBarrier(); err != nil {
		t.Errorf("a notice spoilt the step: %v", err)
	}
	if l := c.Losses(); len(l) != 1 || l[0].PE != 2 {
		t.Errorf("losses %v, want that of the step", l)
	}
	p.f.Close()
	if l := c.Losses(); l != nil {
		t.Errorf("the end of the stream is taken for losses %v", l)
	}
}

func TestBadNotice(t *testing.T) {
	for name, f := range map[string]wire.Frame{
		"of a PE that is not there": loss(3, 9),
		"of another kind":           {Kind: wire.Released},
		"malformed":                 {Kind: wire.Lost},
	} {
		c, p := pair(t)
		p.answer(f)
		if l := c.Losses(); l != nil {
			t.Errorf("%s: %v", name, l)
		}
		if err := c.Barrier(); !errors.Is(err, wire.ErrFormat) {
			t.Errorf("%s: the connection goes on: %v", name, err)
		}
	}
}

func TestNoWelcome(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	p := &peer{t, os.NewFile(uintptr(fds[0]), "shmemrun")}
	p.answer(wire.Frame{Kind: wire.Released})
	if _, err := New(fds[1], 0, 1, 0, false, nil); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("another answer: %v", err)
	}
	p.answer(wire.Frame{Kind: wire.Welcome, Payload: make([]byte, 16)})
	if _, err := New(fds[1], 0, 1, 0, false, nil); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("a short secret: %v", err)
	}
	p.f.Close()
	if _, err := New(fds[1], 0, 1, 0, false, nil); !errors.Is(err, ErrGone) {
		t.Errorf("no shmemrun: %v", err)
	}
}

// An answer to an Inquiry may come in the middle of a step, and after it; one question at a
// time is under way.
func TestInquire(t *testing.T) {
	c, p := pair(t)
	outcomes := func(l ...wire.Loss) {
		var b []byte
		for _, one := range l {
			b = one.Append(b)
		}
		p.answer(wire.Frame{Kind: wire.Outcomes, Payload: b})
	}
	asks := func(pe libshmem.PE) {
		t.Helper()
		if pes, err := wire.ParsePEs(p.expect(wire.Inquiry, 0), 3); err != nil || len(pes) != 1 || pes[0] != pe {
			t.Errorf("it asks about %v, %v, want PE %d", pes, err, pe)
		}
	}
	c.Inquire([]libshmem.PE{2})
	c.Inquire([]libshmem.PE{0}) // not sent: the reply about PE 2 is to come first
	go func() {
		asks(2)
		p.expect(wire.Barrier, 1)
		outcomes(wire.Loss{PE: 2, Outcome: wire.Outcome{How: wire.Left}})
		p.answer(wire.Frame{Kind: wire.Released, Seq: 1})
	}()
	if err := c.Barrier(); err != nil {
		t.Fatal(err)
	}
	if got := c.Outcome(2); got != "called shmem_finalize, and ended with status 0" || c.Outcome(0) != "" {
		t.Errorf("PE 2 %s, PE 0 %s", got, c.Outcome(0))
	}
	c.Inquire([]libshmem.PE{0})
	asks(0)
	outcomes()
	c.Inquire([]libshmem.PE{0})
	asks(0)
	outcomes(wire.Loss{PE: 0, Outcome: wire.Outcome{How: wire.Exited, Init: true}})
	if got := c.Outcome(0); got != "exited with status 0 without shmem_finalize" {
		t.Errorf("PE 0 %s", got)
	}
	if lost := c.Losses(); len(lost) != 0 {
		t.Errorf("outcomes that were asked for are losses: %v", lost)
	}
	outcomes(wire.Loss{PE: 3})
	if got := c.Outcome(3); got != "" {
		t.Errorf("PE 3 of 3 %s", got)
	}
}

// A descriptor that is not shmemrun's, because no process above this one has made it, gets nothing.
func TestApartWritesToShmemrunAlone(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	for what, fd := range map[string]int{"a socket of this process": fds[1], "a file": 0, "no descriptor": 1 << 20} {
		if err := ReportOtherJob(fd); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if (&socket{fds[0]}).readable() {
		t.Error("a socket of this process got a frame")
	}
	if up := Parent("/proc", os.Getpid()); up != os.Getppid() {
		t.Errorf("the parent is %d, want %d", up, os.Getppid())
	}
}
