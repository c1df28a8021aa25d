package launch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/prefix"
	"libshmem/runtime/bootstrap/launch/relay"
	"libshmem/runtime/bootstrap/launch/ssh"
)

const (
	connectAtOnce = 8                      // logins at once: by default sshd refuses some above 10, and one jump host may get all
	connectNotice = 10 * time.Second       // before shmemrun names the hosts whose agents have not greeted yet
	connectRest   = time.Second            // how long the other hosts may take after one has failed
	probeLimit    = 500 * time.Millisecond // how long the replies of all agents to a ping may take
)

// agentFile returns the path of shmemrun on the other hosts.
func (o *Options) agentFile() string { return filepath.Join(o.Prefix, "bin", "shmemrun") }

// runHosts runs a job whose PEs agents start, one agent on each host.
func runHosts(o *Options, out *output, sigs <-chan os.Signal) (int, rest, error) {
	// shmemrun has both ends of a PE's socket and pipes open, and as many files for an agent as for
	// a PE of its own.
	if err := checkFiles(2*o.PEs + len(o.sizes)); err != nil {
		return 0, rest{}, err
	}
	if o.Sync {
		var err error
		if o.digest, err = prefix.Digest(o.Source); err != nil {
			return 0, rest{}, err
		}
	}
	j := newJob(o, out)
	links, err := connect(o, out, sigs)
	if err != nil {
		return 0, rest{}, err
	}
	j.links, j.linkOf = links, make([]*link, o.PEs)
	hostOf := place(o.sizes, o.Map)
	for pe, host := range hostOf {
		l := links[host]
		p, err := l.add(libshmem.PE(pe))
		if err != nil {
			cut(links)
			return 0, rest{}, err
		}
		l.pes = append(l.pes, p.pe)
		j.linkOf[pe] = l
		j.registerStarted(p)
	}
	for _, l := range links {
		spec, err := o.spec(l)
		if err != nil {
			cut(links)
			return 0, rest{}, err
		}
		l.out.send(relay.Frame{Kind: relay.Job, PE: relay.All, Payload: spec})
		go l.read(j)
	}
	links[hostOf[0]].feed(o.Stdin)
	failed := make(chan error, 1)
	go func() {
		var first error
		for _, l := range links {
			// handleLinkEnd reports an agent that has ended without a reply (errLeft).
			if err := <-l.started; err != nil && err != errLeft && first == nil {
				first = err
			}
		}
		failed <- first
	}()
	go j.keepAlive()
	j.loop(sigs)
	var r rest // the pipes end after what the agents have sent
	if j.hurried {
		r.timeout = drainLimit
	}
	return j.status, r, <-failed
}

// spec returns the description of the job for the agent at the other side of l.
func (o *Options) spec(l *link) ([]byte, error) {
	s := &relay.Spec{Host: l.host, NPEs: o.PEs, Hosts: len(o.sizes), PEs: l.pes, Program: []byte(o.Program),
		Dir: []byte(o.Dir), Bind: string(o.Bind), Silence: int64(o.Silence)}
	for _, arg := range o.Args {
		s.Args = append(s.Args, []byte(arg))
	}
	for _, v := range o.Env {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "SHMEM_") || strings.HasPrefix(name, "NVSHMEM_") || slices.Contains(o.Exports, name) {
			if name == "LD_PRELOAD" { // the libraries of --trace have another path on that host
				v = strings.ReplaceAll(v, filepath.Join(o.Source, "lib")+"/", filepath.Join(o.Prefix, "lib")+"/")
			}
			s.Env = append(s.Env, []byte(v))
		}
	}
	return s.Encode()
}

// connect starts an agent on each host, at most connectAtOnce at a time, and returns when all have
// greeted. After the first failure it waits connectRest for further ones, so that one message names
// all hosts that cannot be reached; a signal that ends jobs ends the wait.
func connect(o *Options, out *output, sigs <-chan os.Signal) (links []*link, err error) {
	type greeted struct {
		host int
		l    *link
		err  error
	}
	stop := make(chan struct{})
	results := make(chan greeted)
	logins := make(chan struct{}, connectAtOnce) // an element for each login under way
	links = make([]*link, len(o.Remote))
	begun := make(chan *link, len(o.Remote)) // links whose processes are to be killed after a failure
	for i, h := range o.Remote {
		go func() {
			select {
			case logins <- struct{}{}:
			case <-stop:
				return
			}
			defer func() { <-logins }()
			var l *link
			var err error
			if o.Sync && !ssh.Here(h.Name) {
				err = o.copyTo(h.Name, stop)
			}
			if err == nil {
				l, err = newLink(o, h.Name)
			}
			if err == nil {
				begun <- l
				err = l.greet()
			}
			select {
			case results <- greeted{i, l, err}:
			case <-stop:
			}
		}()
	}
	var failures []string
	status := StatusFailure
	var late <-chan time.Time // fires connectRest after the first failure
	notice := time.After(connectNotice)
	for waiting := len(o.Remote); waiting > 0; {
		select {
		case g := <-results:
			waiting--
			if g.err == nil {
				links[g.host] = g.l
				continue
			}
			failures = append(failures, g.err.Error())
			late = cmp.Or(late, time.After(connectRest))
			continue
		case <-notice:
			var names []string
			for i, l := range links {
				if l == nil {
					names = append(names, o.Remote[i].Name)
				}
			}
			out.say("still waiting for " + strings.Join(names, ", ") + " (ssh gives up after some time; Ctrl-C ends shmemrun)")
			continue
		case s := <-sigs:
			if !isEnding(s) {
				continue
			}
			failures = append(failures, fmt.Sprintf("got signal %d (%v) before the job had begun", number(s), s))
			status = 128 + int(number(s))
		case <-late:
		}
		break
	}
	if len(failures) == 0 {
		return links, nil
	}
	close(stop)
	for {
		select {
		case l := <-begun:
			l.kill()
			continue
		default:
		}
		break
	}
	for _, text := range failures[1:] {
		out.say(text)
	}
	return nil, &Error{status, fmt.Errorf("%s", failures[0])}
}

// cut ends the connections to agents, which end their PEs when their input ends.
func cut(links []*link) {
	for _, l := range links {
		l.kill()
	}
}

// feed passes shmemrun's standard input on to the agent, for PE 0, as far as the credit allows. It
// passes on none if shmemrun is in the background of a terminal, where a read would stop it.
func (l *link) feed(stdin *os.File) {
	end := func() { l.out.send(relay.Frame{Kind: relay.Stdin, PE: 0}) }
	if stdin == nil || isTerminal(stdin) && !inForeground(stdin) {
		end()
		return
	}
	l.input = newCredit()
	go func() {
		defer end()
		buf := make([]byte, 16<<10)
		for {
			n, err := stdin.Read(buf)
			for b := buf[:n]; len(b) > 0; {
				part := l.input.reserve(len(b))
				if part == 0 {
					return
				}
				l.out.send(relay.Frame{Kind: relay.Stdin, PE: 0, Payload: append([]byte(nil), b[:part]...)})
				b = b[part:]
			}
			if err != nil {
				return
			}
		}
	}()
}

// failStart ends a job because an agent could not start its PEs: the PEs of other agents are
// killed.
func (j *job) failStart() {
	j.setStatus(StatusFailure)
	if !j.ending {
		j.ending = true
		j.signalAll(unix.SIGKILL)
	}
	j.endLinks()
}

// handleLinkEnd handles the end of an agent's connection. PEs of the agent that have not ended are
// lost with it. It reports that, with the reason err, unless the job is ending or the agent has
// said why it started nothing.
func (j *job) handleLinkEnd(l *link, err error) {
	l.gone = true
	lost := 0
	for _, p := range j.procs {
		if p.link == l && !p.exited {
			lost++
		}
	}
	if lost > 0 && !j.ending && !l.failed {
		j.out.say(l.lostReason(err) + ", and " + plural(lost, "PE") + " with it")
		j.setStatus(StatusFailure)
	}
	for _, p := range j.procs {
		if p.link == l && !p.exited {
			p.exited, p.lost = true, true
			j.decide(p)
		}
	}
}

// plural returns a count with its word, such as "2 hosts".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// endLinks tells the agents to end what is left on their hosts, and later cuts the connections.
func (j *job) endLinks() {
	for _, l := range j.links {
		l.out.send(relay.Frame{Kind: relay.End, PE: relay.All})
	}
	j.after(failureGrace+strayGrace+agentGrace, j.cutLinks)
}

// cutLinks ends the connections to agents that should have ended by now, if PEs still run or the
// user or the timeout wants the job to be over.
func (j *job) cutLinks() {
	if j.hurried || j.running > 0 {
		cut(j.links)
	}
}

// announceStop tells the agents that shmemrun is about to be stopped by a signal, so that they do
// not regard its silence as its end.
func (j *job) announceStop() {
	for _, l := range j.links {
		l.out.send(relay.Frame{Kind: relay.Hold, PE: relay.All})
	}
	for _, l := range j.links {
		l.out.flush(hangUpDelay)
	}
}

// keepAlive pings the agents from time to time, and ends connections on which nothing has arrived
// for too long.
func (j *job) keepAlive() {
	limit := j.opt.Silence
	for {
		select {
		case <-j.over:
			return
		case <-tick(limit):
		}
		for _, l := range j.links {
			if l.heard.silent(limit) {
				l.cutIfSilent()
			}
		}
		j.do(func() { j.probe(func() {}) }) // only for its pings
	}
}

// cutIfSilent ends the connection to an agent from which nothing has arrived for too long.
func (l *link) cutIfSilent() {
	_, _ = fmt.Fprintln(&l.said, silent)
	l.kill()
}

// probe is a ping to all agents, which reply after they have reported the PEs that have ended.
type probe struct {
	left int    // agents that have not replied
	then func() // called when all have
}

// probe makes the job's loop call `then` when all agents have reported the PEs that have ended by
// now, or after probeLimit. It pings the agents: what an agent has to report arrives before its
// reply.
func (j *job) probe(then func()) {
	j.pings++
	ping := j.pings
	p := &probe{then: then}
	if j.probes == nil {
		j.probes = map[uint32]*probe{}
	}
	j.probes[ping] = p
	for _, l := range j.links {
		if !l.gone {
			p.left++
			l.out.send(relay.Frame{Kind: relay.Ping, PE: relay.All, Payload: relay.Number(ping)})
		}
	}
	j.after(probeLimit, func() { j.endProbe(ping) })
}

// handlePong handles an agent's reply to the ping with a number: the last one completes the probe.
func (j *job) handlePong(ping uint32) {
	if p := j.probes[ping]; p != nil {
		if p.left--; p.left <= 0 {
			j.endProbe(ping)
		}
	}
}

// endProbe ends the probe with a number: all agents have replied, or its time is over.
func (j *job) endProbe(ping uint32) {
	if p := j.probes[ping]; p != nil {
		delete(j.probes, ping)
		p.then()
	}
}
