package launch

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/hostnet"
	"libshmem/runtime/bootstrap/rendezvous"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/shmerr"
)

// How long the steps at the end of a job may take.
const (
	failureGrace = 2 * time.Second        // from SIGTERM to SIGKILL after a failure
	signalGrace  = 5 * time.Second        // from the user's signal to SIGKILL
	hangUpGrace  = 50 * time.Millisecond  // from SIGTERM to hanging up: PEs that join a step meanwhile learn which PE failed
	strayGrace   = time.Second            // from SIGTERM to SIGKILL for processes that PEs left behind
	killAgain    = 100 * time.Millisecond // between SIGKILLs, since a stray may fork meanwhile
	reasonDelay  = 500 * time.Millisecond // for the output of an aborting PE, if the goroutine that reads it is slow
	hangUpDelay  = 100 * time.Millisecond // for last words of a PE whose children hold its socket
	noticeDelay  = time.Second            // before a PE that left early is named, if others still run
	drainLimit   = time.Second            // for the end of a PE's output when all have ended
)

// job is the state of one job. Its fields belong to the goroutine in loop.
type job struct {
	opt     *Options
	out     *output
	meet    *rendezvous.Meeting
	actions chan func()
	over    chan struct{} // closed when nothing is left

	procs     []*process
	replies   []replies // by PE, if all PEs are children of this process
	byPID     map[int]*process
	running   int  // PEs that have not ended, or about whose end decide has not been called yet
	childless bool // no child is left or, with links, no agent sends anything more

	links  []*link           // to the agents; none: all PEs are children of this process
	linkOf []*link           // by PE
	probes map[uint32]*probe // by the number of their ping
	pings  uint32            // sent to the agents so far

	ending  bool
	hurried bool // the user or the clock wants the job to be over
	settled bool // status is final
	status  int
	byUser  unix.Signal // the signal from outside that ended the job
	strayed time.Time   // when the strays were sent SIGTERM

	absences absences
	cleaner  *cleaner // nil: the job leaves nothing
}

// Run runs a job and returns its exit status. All its messages go to the job's standard error.
func Run(o *Options) int {
	out := newOutput(o.Tag, o.Stdout, o.Stderr)
	sigs, stop := listen()
	defer stop()
	status, rest, err := run(o, out, sigs)
	if err != nil {
		out.say(err.Error())
		status = errStatus(err)
	}
	out.finish(rest.pipes, rest.timeout, sigs)
	if status == 0 && out.lost.Load() {
		status = StatusFailure
	}
	return status
}

// rest has the pipes that may still have output of PEs when a job has ended.
type rest struct {
	pipes   []*os.File
	timeout time.Duration // how long to wait for a reader that does not read; 0: for ever
}

// run runs a job, on this host or through agents. It returns the job's exit status, and the pipes
// that may still have output of PEs.
func run(o *Options, out *output, sigs <-chan os.Signal) (int, rest, error) {
	if err := o.Validate(); err != nil {
		return 0, rest{}, err
	}
	if o.Remote != nil {
		return runHosts(o, out, sigs)
	}
	path, err := findProgram(o.Program, o.Env)
	if err != nil {
		return 0, rest{}, err
	}
	if err := checkFiles(o.PEs); err != nil {
		return 0, rest{}, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, rest{}, err
	}
	defer null.Close()
	// PEs are bound by default only if no other job of shmemrun is on this machine (alone).
	announcement, alone, err := announce(jobName)
	if err != nil {
		alone = false // bindPEs then binds nothing by default, and says why
	}
	defer announcement.Close()
	b, err := o.bindPEs("", readSurroundings(o.Env, alone))
	if err != nil {
		return 0, rest{}, err
	}
	st := &starter{opt: o, path: path, env: newEnviron(o, b), null: null, cpus: b.cpus}
	var clean *cleaner
	if o.needsCleaner() {
		if clean, err = startCleaner(null); err != nil {
			return 0, rest{}, err
		}
		defer clean.close()
	}
	if o.Netns {
		net, err := hostnet.New(o.hosts, o.Links)
		if err != nil {
			return 0, rest{}, err
		}
		defer func() {
			if err := net.Close(); err != nil {
				out.say(err.Error())
			}
		}()
		st.enter = net.Enter
	}
	stdin, closeParents, err := input(o.Stdin, null)
	if err != nil {
		return 0, rest{}, err
	}
	// Orphaned children of PEs are reparented to this process, so that none outlives the job.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, rest{}, fmt.Errorf("become subreaper: %w", err)
	}
	j := newJob(o, out)
	j.cleaner = clean
	started := make(chan error)
	st.onStart = j.registerStarted
	go st.run(stdin, started, j.over)
	err = <-started
	closeParents()
	if err != nil {
		j.ending, j.settled = true, true
		if len(j.procs) == 0 {
			// Without a PE nobody else closes the cleaner, a child whose end loop waits for.
			clean.close()
		}
		for _, p := range j.procs {
			p.signal(unix.SIGKILL)
		}
	}
	j.loop(sigs)
	var r rest
	for _, p := range j.procs {
		r.pipes = append(r.pipes, p.stdout, p.stderr)
	}
	if j.hurried {
		r.timeout = drainLimit
	}
	return j.status, r, err
}

// newJob makes the state of a job, of which no PE has been started yet.
func newJob(o *Options, out *output) *job {
	j := &job{
		opt: o, out: out,
		actions: make(chan func(), 64),
		over:    make(chan struct{}),
		byPID:   make(map[int]*process, o.PEs),
		replies: make([]replies, o.PEs),
	}
	j.meet = rendezvous.New(o.PEs, secret.New(), j.reply)
	j.meet.Lost = func(pe libshmem.PE, outcome wire.Outcome, step string, wait []libshmem.PE) {
		// Other ends are reported elsewhere: a failure by decide, a PE that finalized too early by
		// the PEs that wait for it.
		if outcome.How == wire.Exited && !outcome.Bad() {
			j.absences.note(func() { j.reportAbsent(pe, outcome, step, wait) })
			// Wake the loop, which prints what was noted. In another goroutine, because the loop
			// may be the caller, and must not wait for itself.
			go j.do(func() {})
		}
	}
	return j
}

// registerStarted registers a PE that has just been started, and starts to read its frames
// and output. It runs on the starter's thread, before loop begins.
func (j *job) registerStarted(p *process) {
	j.procs = append(j.procs, p)
	j.replies[p.pe].conn = p.conn
	if p.link == nil {
		j.byPID[p.pid] = p
	}
	j.running++
	j.out.forward(p.pe, p.stdout, j.out.out)
	p.errs = j.out.forward(p.pe, p.stderr, j.out.errs)
	go j.serve(p)
}

// do makes the goroutine of loop call f, because only that changes the job's state. It does nothing
// when loop has ended.
func (j *job) do(f func()) {
	select {
	case j.actions <- f:
	case <-j.over:
	}
}

// after makes loop call f after the time d.
func (j *job) after(d time.Duration, f func()) { time.AfterFunc(d, func() { j.do(f) }) }

// loop handles all events of the job, functions in the channel actions and signals, until all PEs
// and the processes that they left have ended. Only this goroutine changes the state of the job.
func (j *job) loop(sigs <-chan os.Signal) {
	defer close(j.over)
	go func() {
		if len(j.links) > 0 {
			for _, l := range j.links {
				<-l.over
			}
		} else {
			reap(func(pid int, ws unix.WaitStatus) { j.do(func() { j.handleExit(pid, ws) }) })
		}
		j.do(func() { j.childless = true })
	}()
	if j.opt.Timeout > 0 {
		j.after(j.opt.Timeout, j.timeOut)
	}
	for !j.childless || j.running > 0 {
		select {
		case f := <-j.actions:
			for _, notify := range j.absences.drain() {
				notify()
			}
			f()
		case s := <-sigs:
			j.handleSignal(s)
		}
	}
}

// serve reads and handles the frames from a PE's socket until the PE closes it. If the PE has
// exited before, its end is handled only now: a frame may have had the reason.
func (j *job) serve(p *process) {
	for {
		f, err := wire.Read(p.conn)
		if err != nil {
			if errors.Is(err, wire.ErrFormat) {
				j.do(func() { j.endForBreach(p, err) })
			}
			break
		}
		if err := j.handleFrame(p, f); err != nil {
			j.do(func() { j.endForBreach(p, err) })
			break
		}
	}
	j.do(func() {
		p.hungUp = true
		p.conn.Close()
		if p.exited {
			j.decide(p)
		}
	})
}

// handleFrame does what a frame of a PE requests. An error is a breach of the protocol. It runs in
// the goroutine of serve, and changes the job's state only through do.
func (j *job) handleFrame(p *process, f wire.Frame) error {
	switch f.Kind {
	case wire.Hello:
		g, err := wire.ParseGreeting(f.Payload)
		if err != nil {
			return err
		}
		j.do(func() {
			p.leaving, p.otherJob = false, false
			j.cleaner.note(g.PID)
		})
		return j.meet.Hello(p.pe, g)
	case wire.Gather, wire.Barrier, wire.LeaveBarrier:
		return j.meet.Join(p.pe, f)
	case wire.Inquiry:
		return j.meet.Inquire(p.pe, f)
	case wire.Done:
		return j.meet.Leave(p.pe, false)
	case wire.Fail:
		// The PE is about to print the reason: if the job ends because of it, the PE gets the time
		// for that.
		j.do(func() { p.leaving = true })
		return j.meet.Leave(p.pe, true)
	case wire.OtherJob:
		j.do(func() { p.otherJob = true })
		return nil
	case wire.Abort, wire.Exit:
		e, err := wire.ParseEnding(f.Payload)
		if err != nil {
			return err
		}
		// First pass on the reason, which the PE has written to its standard error.
		p.errs.catchUp(p.stderr, reasonDelay)
		j.do(func() { j.handleEndRequest(p, f.Kind, e) })
		return nil
	}
	return fmt.Errorf("%w: a PE does not send %v", wire.ErrFormat, f.Kind)
}

// reply sends a frame to a PE, directly or through its agent.
func (j *job) reply(pe libshmem.PE, frame []byte) {
	if j.linkOf != nil {
		j.linkOf[pe].out.reply(pe, frame)
		return
	}
	j.replies[pe].send(frame)
}

// handleExit handles the end of a child, with its wait status, if the child is a PE.
func (j *job) handleExit(pid int, ws unix.WaitStatus) {
	if p := j.byPID[pid]; p != nil {
		j.handleEnd(p, ws)
	}
}

// handleEnd handles the end of a PE, and calls decide once the PE's last frames have been read.
func (j *job) handleEnd(p *process, ws unix.WaitStatus) {
	if p.exited {
		return
	}
	p.exited, p.waitStat = true, ws
	// First read the PE's last frames from the socket: an abort has a reason, and a PE that has
	// finalized has not failed.
	if p.hungUp {
		j.decide(p)
		return
	}
	j.after(hangUpDelay, func() { j.decideWhenSilent(p) })
}

// decideWhenSilent calls decide for a PE that has ended, once its socket is empty: children of the
// PE may hold the socket open.
func (j *job) decideWhenSilent(p *process) {
	switch {
	case p.hungUp: // serve has called decide
	case p.unread():
		j.after(hangUpDelay, func() { j.decideWhenSilent(p) })
	default:
		j.decide(p)
	}
}

// decide decides, once for a PE, what its end means for the job: whether it is a failure, and
// whether the other PEs end because of it. It does nothing while the PE's abort is handled, which
// then calls it.
func (j *job) decide(p *process) {
	if p.decided || p.aborting {
		return
	}
	p.decided = true
	j.running--
	state := j.meet.State(p.pe)
	outcome := outcomeOf(p.waitStat, state.Inside)
	if p.lost {
		outcome = wire.Outcome{How: wire.Vanished, Code: StatusFailure, Init: state.Inside}
	}
	if outcome.Bad() {
		// No PE waits for a PE that has finalized, so its failure does not end the job. If several
		// such PEs fail, perhaps for one reason, only the first failure is reported.
		fatal := state.Inside || !state.Finalized
		survives := (state.Survives || p.otherJob && !state.Inside) && j.running > 0
		// handleLinkEnd has reported a PE that is lost with its host, but not that the others go
		// on.
		if !j.ending && (fatal || !j.settled) && !(p.lost && !survives) {
			after := ""
			if survives {
				after = "; the others go on (SHMEM_ON_FAILURE=return)"
			}
			j.out.say(fmt.Sprintf("PE %d %v%s", p.pe, outcome, after))
		}
		j.setStatus(outcome.Status())
		if !j.ending && fatal && !survives {
			j.fail()
		}
	}
	// The PEs that wait for a PE whose abort ends the job get no other reason: the signal that ends
	// them may be late on a busy machine, and they would print that the PE has exited.
	if !p.leaving || !j.ending {
		j.meet.End(p.pe, outcome)
	}
	if !outcome.Bad() && state.Inside && !state.Survives && !j.ending {
		j.after(noticeDelay, func() { j.notice(p, outcome) })
	}
	if j.running == 0 {
		j.cleaner.close()
		j.after(10*time.Millisecond, j.endStrays)
	}
}

// reportAbsent prints, once for a PE, that it has exited with status 0 although the PEs `wait` wait
// for it in a collective step.
func (j *job) reportAbsent(pe libshmem.PE, outcome wire.Outcome, step string, wait []libshmem.PE) {
	if j.ending || j.procs[pe].named {
		return
	}
	j.procs[pe].named = true
	j.out.say(fmt.Sprintf("PE %d %v, but %s", pe, outcome, rendezvous.WaitFor(step, wait)))
}

// notice prints, once for a PE, that it has exited with status 0 and without shmem_finalize while
// others still run: they may wait for it in shared memory, which shmemrun does not see.
func (j *job) notice(p *process, outcome wire.Outcome) {
	if j.running == 0 || j.ending || p.named {
		return
	}
	p.named = true
	var pes []libshmem.PE
	for _, q := range j.procs {
		if !q.exited {
			pes = append(pes, q.pe)
		}
	}
	j.out.say(fmt.Sprintf("PE %d %v, but %s may wait for it forever (call shmem_finalize before the end)",
		p.pe, outcome, shmerr.PEs(pes)))
}

// setStatus sets the exit status of the job, unless an earlier cause has done so.
func (j *job) setStatus(status int) {
	if !j.settled {
		j.settled, j.status = true, status&0xff
	}
}

// handleEndRequest handles a PE's request to end the job, an abort or an exit with the status in e.
func (j *job) handleEndRequest(p *process, kind wire.Kind, e wire.Ending) {
	p.leaving = true
	if kind == wire.Abort {
		j.handleAbort(p, e)
	} else {
		j.endAs(p, kind, e)
	}
}

// endForBreach ends the job because a PE has broken the launch protocol.
func (j *job) endForBreach(p *process, err error) {
	if j.ending {
		return
	}
	j.out.say(fmt.Sprintf("PE %d broke the launch protocol: %v", p.pe, err))
	j.setStatus(StatusFailure)
	j.fail()
}
