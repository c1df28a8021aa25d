package launch

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/launch/relay"
	"libshmem/runtime/bootstrap/wire"
)

// start starts the PEs of the job that a frame of shmemrun describes, and replies whether it could.
// It returns an error only for a wrong frame, which ends the connection.
func (a *agent) start(payload []byte) error {
	if a.spec != nil {
		return fmt.Errorf("%w: a second job", relay.ErrFormat)
	}
	spec, err := relay.ParseSpec(payload)
	if err != nil {
		return err
	}
	if err := a.startAll(spec); err != nil {
		a.out.send(relay.Frame{Kind: relay.Failed, PE: relay.All, Payload: relay.Failure{Status: errStatus(err), Text: err.Error()}.Encode()})
		a.end()
		if len(a.procs) == 0 { // the cleaner has no PE to wait for
			a.cleaner.close()
		}
		return nil
	}
	a.out.send(relay.Frame{Kind: relay.Started, PE: relay.All})
	return nil
}

// startAll starts all PEs of this host in the directory and with the environment of the spec. The
// agent becomes the subreaper of their descendants, so that it can end those that a PE leaves
// behind. Standard input of shmemrun goes to PE 0 alone.
func (a *agent) startAll(spec *relay.Spec) error {
	if err := os.Chdir(string(spec.Dir)); err != nil {
		cause := err
		if e, ok := errors.AsType[*os.PathError](err); ok {
			cause = e.Err
		}
		return fmt.Errorf("enter directory %s: %w (make it there, or name another with --wdir)", spec.Dir, cause)
	}
	o := &Options{PEs: len(spec.PEs), Map: Block, Bind: Bind(spec.Bind), Program: string(spec.Program), Env: a.env, LibDir: a.libDir,
		numbers: spec.PEs, npes: spec.NPEs, hosts: spec.Hosts}
	for _, arg := range spec.Args {
		o.Args = append(o.Args, string(arg))
	}
	for _, v := range spec.Env {
		o.Env = append(o.Env, string(v))
	}
	if err := o.Validate(); err != nil {
		return err
	}
	st, err := a.prepare(o)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	stdin := st.null
	if spec.PEs[0] == 0 {
		fds, err := pipe()
		if err != nil {
			return fmt.Errorf("standard input of PE 0: %w", err)
		}
		r := os.NewFile(uintptr(fds[0]), "stdin of PE 0")
		defer r.Close()
		stdin = r
		a.stdin = &pump{gone: func() {}, to: os.NewFile(uintptr(fds[1]), "stdin of PE 0"), wrote: func(n int) {
			a.out.send(relay.Frame{Kind: relay.CreditIn, PE: 0, Payload: relay.Number(uint32(n))})
		}}
	}
	a.spec, a.opt = spec, o
	st.onStart = a.registerStarted
	started := make(chan error)
	go st.run(stdin, started, a.over)
	err = <-started
	// Not before the start, because reap returns as soon as this process has no child.
	go func() {
		reap(func(pid int, ws unix.WaitStatus) { a.do(func() { a.handleExit(pid, ws) }) })
		a.do(func() { a.childless = true })
	}()
	return err
}

// prepare finds the program, binds the PEs to processors and starts the cleaner. It returns the
// starter of the PEs.
func (a *agent) prepare(o *Options) (*starter, error) {
	path, err := findProgram(o.Program, o.Env)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(o.PEs); err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	_, alone, err := announce(jobName) // the announcement ends with the agent
	if err != nil {
		alone = false // bindPEs then binds nothing by default, and says why
	}
	b, err := o.bindPEs("", readSurroundings(o.Env, alone))
	if err == nil {
		a.cleaner, err = startCleaner(null)
	}
	if err != nil {
		return nil, err
	}
	return &starter{opt: o, path: path, env: newEnviron(o, b), null: null, cpus: b.cpus}, nil
}

// registerStarted registers a PE that has just been started, and starts to pass on its frames and
// output. It runs on the starter's thread, for which loop waits meanwhile.
func (a *agent) registerStarted(p *process) {
	q := &agentPE{process: p, hungUp: make(chan struct{}), reported: make(chan struct{})}
	q.replies.conn = p.conn
	for i, from := range []*os.File{p.stdout, p.stderr} {
		q.outputs[i] = &agentOutput{from: from, credit: newCredit(), done: make(chan struct{})}
		go a.forward(q, i)
	}
	a.cleaner.noteGroup(p.pid)
	a.procs = append(a.procs, p)
	a.byPE[p.pe], a.byPID[p.pid] = q, q
	go a.serve(q)
}

// forward sends output i of a PE, stdout or stderr, to shmemrun, as many bytes as the credit from
// shmemrun allows, so that a terminal that does not read stops the PE and fills no memory. An empty
// frame says that the output has ended.
func (a *agent) forward(p *agentPE, i int) {
	o := p.outputs[i]
	kind := relay.Stdout + relay.Kind(i)
	defer close(o.done)
	defer o.from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := o.read(o.from, buf)
		// loop sets a deadline when all PEs have ended: then only send what is in the pipe.
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = readNow(o.from, buf)
		}
		for b := buf[:n]; len(b) > 0; {
			part := o.credit.reserve(len(b))
			if part == 0 {
				return
			}
			a.out.send(relay.Frame{Kind: kind, PE: p.pe, Payload: append([]byte(nil), b[:part]...)})
			b = b[part:]
		}
		if err != nil {
			o.busy.Store(false)
			a.out.send(relay.Frame{Kind: kind, PE: p.pe})
			return
		}
	}
}

// serve passes a PE's frames on to shmemrun until the PE closes its socket.
func (a *agent) serve(p *agentPE) {
	defer close(p.hungUp)
	for {
		f, err := wire.Read(p.conn)
		if err != nil {
			if errors.Is(err, wire.ErrFormat) {
				a.out.send(relay.Frame{Kind: relay.Breach, PE: p.pe, Payload: []byte(err.Error())})
			}
			break
		}
		switch f.Kind {
		case wire.Hello:
			if g, err := wire.ParseGreeting(f.Payload); err == nil {
				a.do(func() { a.cleaner.note(g.PID) })
			}
		case wire.Abort, wire.Exit:
			// First pass on the reason, which the PE has written to its standard error.
			p.outputs[1].catchUp(p.stderr, reasonDelay)
		}
		frame, err := wire.Append(nil, f)
		if err != nil {
			break
		}
		a.out.send(relay.Frame{Kind: relay.Request, PE: p.pe, Payload: frame})
	}
	a.out.send(relay.Frame{Kind: relay.HungUp, PE: p.pe})
}

// handleExit reports the end of a PE, with the wait status ws, to shmemrun, after the frames that
// are still in the PE's socket: one of them may be the reason why it ended.
func (a *agent) handleExit(pid int, ws unix.WaitStatus) {
	p := a.byPID[pid]
	if p == nil || p.exited {
		return
	}
	p.exited = true
	go func() {
		defer close(p.reported)
		for wait := true; wait; {
			select {
			case <-p.hungUp:
				wait = false
			case <-time.After(hangUpDelay):
				wait = p.unread()
			}
		}
		a.out.send(relay.Frame{Kind: relay.Exited, PE: p.pe, Payload: relay.Number(uint32(ws))})
	}()
}
