package launch

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
)

// AsAgent is the first argument of a shmemrun that runs as the agent of another.
const AsAgent = "--agent"

const (
	agentGrace  = 3 * time.Second        // how long an agent that is to end may take
	pongTimeout = 300 * time.Millisecond // how long a pong waits for reports of PEs that have ended
)

// agent starts PEs of a job on this host for a shmemrun on another host, to which it passes their
// frames and output. That shmemrun decides what the end of a PE means. The fields of agent belong
// to the goroutine in loop.
type agent struct {
	in      io.Reader
	out     *outbox
	env     []string
	libDir  string        // folder of the library, for the PEs' LD_LIBRARY_PATH
	actions chan func()   // what loop is to do
	left    chan struct{} // closed when loop ends

	spec    *relay.Spec
	opt     *Options
	procs   []*process
	byPE    map[libshmem.PE]*agentPE
	byPID   map[int]*agentPE
	cleaner *cleaner
	stdin   *pump         // standard input of PE 0; nil: PE 0 is on another host
	over    chan struct{} // closed when all processes have ended: ends the starter's thread

	childless    bool      // this process has no child left
	ending       bool      // all processes are to end
	disconnected bool      // shmemrun can direct this agent no more: see disconnect
	strayed      time.Time // when processes that PEs left behind were sent SIGTERM
	heard        stamp     // when the last bytes from shmemrun arrived
	paused       bool      // shmemrun is stopped, and therefore sends nothing
}

// agentPE is a PE that this agent has started.
type agentPE struct {
	*process
	replies  replies
	outputs  [2]*agentOutput
	hungUp   chan struct{} // closed when the PE sends nothing more
	reported chan struct{} // closed when its end is reported
}

// agentOutput is the standard output or error of a PE that this agent has started.
type agentOutput struct {
	outputPipe
	from   *os.File
	credit *credit
	done   chan struct{} // closed when all is sent
}

// Agent runs this process as an agent until the job has ended, and returns its exit status. in and
// out connect it with shmemrun.
func Agent(in, out *os.File, env []string, libDir string) int {
	signals := make(chan os.Signal, 8)
	// Without SIGPIPE in this list, a write to the closed standard output would kill the agent
	// before it has ended its PEs.
	signal.Notify(signals, append([]os.Signal{unix.SIGPIPE}, ending...)...)
	a := &agent{
		out: &outbox{to: out}, env: env, libDir: libDir,
		actions: make(chan func(), 64), left: make(chan struct{}), over: make(chan struct{}),
		byPE: map[libshmem.PE]*agentPE{}, byPID: map[int]*agentPE{},
	}
	if _, err := out.WriteString(relay.Greeting()); err != nil {
		return StatusFailure
	}
	a.in = a.heard.reader(in)
	go a.read()
	a.loop(signals)
	return 0
}

// do makes the goroutine of loop call f, because only that changes the agent's state. It does
// nothing when loop has ended.
func (a *agent) do(f func()) {
	select {
	case a.actions <- f:
	case <-a.left:
	}
}

// after makes loop call f after the time d.
func (a *agent) after(d time.Duration, f func()) { time.AfterFunc(d, func() { a.do(f) }) }

// read reads frames from shmemrun until the stream ends, and passes each to the goroutine of loop,
// which handles it. If the stream ends, or a frame breaks the protocol, the agent ends its PEs
// (disconnect): shmemrun cannot direct it any more.
func (a *agent) read() {
	for {
		f, err := relay.Read(a.in)
		if err != nil {
			a.do(a.disconnect)
			return
		}
		a.do(func() {
			a.paused = false
			if err := a.handle(f); err != nil {
				a.say(err.Error())
				a.disconnect()
			}
		})
	}
}

// say sends a text to shmemrun, which prints it.
func (a *agent) say(text string) {
	a.out.send(relay.Frame{Kind: relay.Say, PE: relay.All, Payload: []byte(text)})
}

// loop handles all events of the agent until everything has ended, and then sends what is left of
// the PEs' output.
func (a *agent) loop(signals <-chan os.Signal) {
	defer close(a.left)
	for !a.finished() {
		silence := firstSilence
		if a.spec != nil {
			silence = time.Duration(a.spec.Silence)
		}
		select {
		case f := <-a.actions:
			f()
		case s := <-signals:
			if s != unix.SIGPIPE {
				a.say(fmt.Sprintf("the agent got signal %d (%v)", number(s), s))
				a.end()
			}
		case <-tick(silence):
			if !a.paused && !a.ending && a.heard.silent(silence) {
				a.disconnect()
			}
		}
	}
	close(a.over)
	if a.disconnected {
		return
	}
	for _, p := range a.byPE {
		for _, o := range p.outputs {
			// A process outside the job may hold the pipe open, so do not wait for its end.
			_ = o.from.SetReadDeadline(time.Now().Add(drainLimit))
		}
	}
	// forward sends the remaining output as far as shmemrun grants credit. Its frames are handled
	// here until all is sent or the connection has ended.
	for _, p := range a.byPE {
		for _, o := range p.outputs {
			for waits := true; waits; {
				select {
				case <-o.done:
					waits = false
				case f := <-a.actions:
					f()
				}
				waits = waits && !a.disconnected
			}
		}
	}
	a.out.send(relay.Frame{Kind: relay.Over, PE: relay.All})
	a.out.flush(agentGrace)
}

// finished reports whether the agent may end: its processes are to end, and none is left.
func (a *agent) finished() bool { return a.ending && (a.spec == nil || a.childless) }

// handle does what a frame of shmemrun requests. An error is a breach of the protocol.
func (a *agent) handle(f relay.Frame) error {
	if a.spec == nil && f.Kind != relay.Job && f.Kind != relay.Ping && f.Kind != relay.Hold && f.Kind != relay.End {
		return fmt.Errorf("%w: %v before a job", relay.ErrFormat, f.Kind)
	}
	p := a.byPE[f.PE]
	switch f.Kind {
	case relay.CreditOut, relay.CreditErr, relay.HangUp:
		if p == nil {
			return nil // the start failed before this PE
		}
	}
	switch f.Kind {
	case relay.Job:
		return a.start(f.Payload)
	case relay.Reply:
		pes, frame, err := relay.ParseReply(f.Payload)
		if err != nil {
			return err
		}
		for _, pe := range pes {
			if p := a.byPE[pe]; p != nil {
				p.replies.send(frame)
			}
		}
	case relay.HangUp:
		p.hangUp()
	case relay.Signal, relay.Pass:
		n, err := relay.ParseNumber(f)
		if err != nil {
			return err
		}
		if f.Kind == relay.Pass {
			if text := passTo(a.procs, unix.Signal(n)); text != "" {
				a.say(text)
			}
			return nil
		}
		for _, q := range a.procs {
			if f.PE == relay.All || q.pe == f.PE {
				q.signal(unix.Signal(n))
			}
		}
	case relay.CreditOut, relay.CreditErr:
		n, err := relay.ParseNumber(f)
		if err != nil {
			return err
		}
		o := p.outputs[f.Kind-relay.CreditOut]
		if n == 0 { // the reader of shmemrun's output has gone: the PE's next write gets EPIPE
			o.credit.end()
			o.from.Close()
		}
		o.credit.release(int(n))
	case relay.Stdin:
		switch {
		case a.stdin == nil:
		case len(f.Payload) == 0:
			a.stdin.closeAfter()
		default:
			a.stdin.send(f.Payload)
		}
	case relay.Ping:
		a.pong(f)
	case relay.Hold:
		a.paused = true
	case relay.End:
		a.end()
	default:
		return fmt.Errorf("%w: shmemrun does not send %v", relay.ErrFormat, f.Kind)
	}
	return nil
}

// pong replies to a ping of shmemrun. It sends the reply after the reports of all PEs that have
// ended by now, or after pongTimeout. So shmemrun knows of these ends when it gets the reply.
func (a *agent) pong(f relay.Frame) {
	var ended []*agentPE
	for _, p := range a.byPID {
		if !p.exited {
			if pid, ws, err := findEnded(unix.P_PID, p.pid, unix.WNOHANG); err == nil && pid == p.pid {
				a.handleExit(pid, ws)
			}
		}
		if p.exited {
			ended = append(ended, p)
		}
	}
	go func() {
		limit := time.After(pongTimeout)
		for _, p := range ended {
			select {
			case <-p.reported:
			case <-limit:
				limit = nil
			}
			if limit == nil {
				break
			}
		}
		a.out.send(relay.Frame{Kind: relay.Pong, PE: relay.All, Payload: f.Payload})
	}()
}

// disconnect ends all processes, and sends shmemrun nothing more: shmemrun, its host or the
// connection to it is gone, or shmemrun has broken the protocol.
func (a *agent) disconnect() {
	a.disconnected = true
	a.out.close()
	for _, p := range a.byPE {
		for _, o := range p.outputs {
			o.credit.end()
		}
	}
	a.end()
}

// end ends the PEs of this host by SIGTERM, those that remain after failureGrace by SIGKILL, and
// then the processes that they have left behind. A second call does nothing.
func (a *agent) end() {
	if a.ending {
		return
	}
	a.ending = true
	a.signalAll(unix.SIGTERM)
	a.after(failureGrace, func() { a.signalAll(unix.SIGKILL) })
	a.endStrays()
}

// signalAll sends a signal to all PEs, and continues those that are stopped.
func (a *agent) signalAll(sig unix.Signal) {
	for _, p := range a.procs {
		p.signal(sig)
		p.signal(unix.SIGCONT)
	}
}

// endStrays ends processes that PEs have left behind, once no PE is left. It calls itself until
// there are none: such a process may fork before its signal arrives.
func (a *agent) endStrays() {
	if a.childless {
		return
	}
	for _, p := range a.procs {
		if !p.exited {
			a.after(killAgain, a.endStrays)
			return
		}
	}
	a.cleaner.close()
	signalStrays(&a.strayed, a.cleaner)
	a.after(killAgain, a.endStrays)
}
