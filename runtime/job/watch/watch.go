// Package watch knows the state of the other PEs of a job from the launcher, the kernel, their
// control pages and the network. It reports the loss of a PE, and explains waits. Its caller acts
// on a loss. It also watches the calls of the GPU driver (driver.go).
//
// One thread of its own waits for news of PEs, and one watches driver calls. Any goroutine may call
// the methods that say what is known of a PE.
package watch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/meet"
)

// Three sources report that a PE has ended: the launcher, whose child it is; the kernel, for
// processes that this one can see; and the network, when it cannot reach the PE. The launcher knows
// best how the PE has ended, so a PE acts on the other two only after the launcher had some time to
// report.
//
// Without SHMEM_ON_FAILURE=return the launcher ends the job, and the PEs have nothing to do, unless
// the launcher is gone or does not end jobs. A launcher has newsDelay to end the job, with the
// status of the PE that failed, before a PE does.
const (
	// newsDelay is the longest time that the launcher's report may take.
	newsDelay = time.Second
	// watched bounds how many processes a PE watches: those of the PEs with the next numbers. With
	// thousands on a machine there are enough watchers, and each watch needs a descriptor.
	watched = 128
	// A PE pings PEs that only the network can watch once in pingPeriod, at most maxPings of them
	// at a time.
	pingPeriod, maxPings = time.Second, 16
)

// Watch knows the other PEs, and has the thread that waits for news of them.
type Watch struct {
	peers

	mu      sync.Mutex
	kick    int                       // an eventfd that wakes the thread; 0: there is no thread
	over    bool                      // the thread has to end
	gone    chan struct{}             // closed when the thread has ended
	suspect map[libshmem.PE]suspicion // PEs that seem to have ended

	// Only the thread uses the members below.
	lose       func(pe libshmem.PE, reason string)
	open       map[int]libshmem.PE // the process descriptors that the thread polls
	orphaned   bool                // the launcher is gone
	lastPinged int                 // the PE that the last ping was sent to
	silent     map[libshmem.PE]int // by PE: consecutive pings that could not be sent
	requests   func() uint32       // how many reports the user has requested
	reported   uint32              // the value of requests at the last report
	pinged     time.Time           // when PEs were pinged last
}

// survives reports whether the job continues without a PE that is lost (SHMEM_ON_FAILURE=return).
func (w *Watch) survives() bool { return w.Settings.OnFailure == config.ReturnOnFailure }

// suspicion says why a PE seems to have ended, and since when.
type suspicion struct {
	reason string
	since  time.Time
}

// New returns a watch without a thread.
func New(p Peers) *Watch {
	return &Watch{peers: peers{Peers: p}}
}

// Begin begins to watch the other PEs. It calls lose for each PE that is lost, from one thread, if
// the job survives that. requests returns how many reports the user has requested by a signal so
// far. Begin returns a descriptor to which the caller writes a number when that count changes; 0:
// there is no thread.
func (w *Watch) Begin(lose func(pe libshmem.PE, reason string), requests func() uint32) (fd int) {
	if len(w.Processes) == 1 {
		return 0
	}
	kick, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		w.Log.Printf("pe", config.LogWarn, "watch the other PEs: %v (waits for a PE that ends may not end)", err)
		return 0
	}
	w.mu.Lock()
	w.lose, w.gone = lose, make(chan struct{})
	w.open = map[int]libshmem.PE{}
	w.kick = kick
	w.mu.Unlock()
	if w.FromStart() {
		w.openProcesses()
	}
	w.requests = requests
	w.reported = requests()
	guard.Go("the watch of other PEs", w.run)
	return kick
}

// FromStart reports whether this PE watches the others from the beginning: because it goes on
// without them, or because no launcher would end it with them.
func (w *Watch) FromStart() bool {
	e, ok := w.Boot.(bootstrap.Ender)
	return w.survives() || !ok || !e.EndsJob()
}

// Unreachable handles an engine's report that the network cannot reach a PE any more. The engine
// calls it and holds its lock.
func (w *Watch) Unreachable(pe libshmem.PE, err error) {
	w.suspects(pe, "cannot be reached any more: "+err.Error())
	w.wake()
}

// suspects notes that a PE seems to have ended, as reason says. giveUpSuspects gives up the PE
// later, unless the launcher reports the reason before.
func (w *Watch) suspects(pe libshmem.PE, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.suspect[pe]; known || w.lost(pe) != "" {
		return
	}
	if w.suspect == nil {
		w.suspect = map[libshmem.PE]suspicion{}
	}
	w.suspect[pe] = suspicion{reason, time.Now()}
}

// wake wakes the thread.
func (w *Watch) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kick > 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(w.kick, one[:]) // an error: the eventfd is full, so the thread is awake
	}
}

// Stop ends the thread. It does nothing if the thread has been stopped or the watch is nil.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.over = true
	running := w.kick > 0
	w.mu.Unlock()
	if !running {
		return
	}
	w.wake()
	<-w.gone
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = unix.Close(w.kick)
	w.kick = 0
	for fd := range w.open {
		_ = unix.Close(fd)
	}
	w.open = nil
}

// openProcesses begins to watch the processes of other PEs that this process can see: the next
// `watched` of them after this PE, so that each PE is watched by some others and none by all.
func (w *Watch) openProcesses() {
	all := len(w.Processes)
	for i, n := 1, 0; i < all && n < watched; i++ {
		pe := (w.Me + libshmem.PE(i)) % libshmem.PE(all)
		p := &w.Processes[pe]
		if !p.Visible() {
			continue
		}
		n++
		fd, err := p.Open()
		switch {
		case err != nil:
			w.Log.Printf("pe", config.LogInfo, "watch PE %d: %v (the launcher and the network do)", pe, err)
		case fd < 0: // the process has ended
			w.suspects(pe, w.describeEnd(pe))
		default:
			w.open[fd] = pe
		}
	}
}

// describeEnd describes the end of a PE whose process is gone, with the PE's own note if there is
// one.
func (w *Watch) describeEnd(pe libshmem.PE) string {
	how := cmp.Or(w.of(pe, area.Gone), "ended")
	return fmt.Sprintf("%s (its process, %d, is gone)", how, w.Processes[pe].ID)
}

// run is the watching thread: it waits for news of PEs, gives up those that are lost, pings others,
// and prints requested reports.
func (w *Watch) run() {
	defer close(w.gone)
	for {
		w.sleep()
		w.mu.Lock()
		over := w.over
		w.mu.Unlock()
		if over {
			return
		}
		for _, l := range w.Boot.Losses() {
			if l.Ends {
				w.Fatal(&EndedError{l.PE, l.Status})
			}
			w.giveUp(l.PE, l.Reason)
		}
		w.giveUpSuspects()
		w.ping()
		w.report()
	}
}

// reportDelay is the time in which threads that wait in C report on themselves first. They check
// for a request every 10 ms.
const reportDelay = 50 * time.Millisecond

// report prints what is wrong with PEs, if the user has requested a report by a signal. PEs of
// other hosts get reportDelay to reply.
func (w *Watch) report() {
	requests := w.requests()
	if requests == w.reported {
		return
	}
	w.reported = requests
	w.Probe(nil) // nil, here and below: no PE is named as late
	time.Sleep(reportDelay)
	what := w.Explanation(nil, 0)
	if what == "" {
		what = "nothing is known to be wrong with any PE"
	}
	w.Report("asked for a report: " + what)
}

// sleep waits until the bootstrap has news, a watched process ends or the thread is woken, but no
// longer than until a suspect has to be given up or PEs have to be pinged. A process that has ended
// makes its PE a suspect.
func (w *Watch) sleep() {
	fds := []unix.PollFd{{Fd: int32(w.kick), Events: unix.POLLIN}}
	news := w.Boot.NewsFD()
	if news >= 0 && !w.orphaned {
		fds = append(fds, unix.PollFd{Fd: int32(news), Events: w.listens()})
	}
	for fd := range w.open {
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if n, err := unix.Poll(fds, w.pollTimeout()); err != nil || n == 0 {
		return
	}
	for _, f := range fds {
		switch {
		case f.Revents == 0:
		case int(f.Fd) == w.kick:
			var count [8]byte
			_, _ = unix.Read(w.kick, count[:])
		case int(f.Fd) == news:
			if f.Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0 {
				w.orphan()
			} else {
				time.Sleep(time.Millisecond) // another thread is about to read a reply
			}
		default:
			pe := w.open[int(f.Fd)]
			delete(w.open, int(f.Fd))
			_ = unix.Close(int(f.Fd))
			w.suspects(pe, w.describeEnd(pe))
		}
	}
}

// listens returns the poll events for the launcher's socket. A PE that its launcher ends waits only
// for the end of the connection, which poll reports (POLLHUP) even for 0.
func (w *Watch) listens() int16 {
	if _, ok := w.Boot.(bootstrap.Launched); ok {
		return unix.POLLRDHUP
	}
	if w.FromStart() {
		return unix.POLLIN
	}
	return 0
}

// pollTimeout returns the longest time, in milliseconds, for which the thread may sleep without
// news: until a suspected PE has to be given up, or PEs have to be pinged. -1: for ever.
func (w *Watch) pollTimeout() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.suspect) > 0: // newsDelay is checked ten times, so a PE is given up 10 % late at most
		return int(newsDelay/time.Millisecond) / 10
	case w.pinging():
		return int(pingPeriod / time.Millisecond)
	}
	return -1
}

// orphan handles the loss of the launcher. A launcher that would end the job is gone, so this PE
// ends it. A bootstrap without a launcher is not needed any more: then the processes of this host
// are watched.
func (w *Watch) orphan() {
	w.orphaned = true
	if l, ok := w.Boot.(bootstrap.Launched); ok {
		w.Fatal(&OrphanError{l.Launcher()})
		return
	}
	w.Log.Printf("pe", config.LogInfo, "the bootstrap has ended, but the job goes on")
	if !w.FromStart() {
		w.openProcesses()
	}
}

// OrphanError reports that this PE has lost its launcher, which was killed or ends the job.
type OrphanError struct{ Launcher string }

// Error names the launcher.
func (e *OrphanError) Error() string { return e.Launcher + " has gone" }

// EndedError reports that a PE has ended the job, in a job that no launcher ends.
type EndedError struct {
	PE     libshmem.PE
	Status int
}

// Error names the PE and the status.
func (e *EndedError) Error() string {
	return fmt.Sprintf("PE %d ended the job with status %d", e.PE, e.Status)
}

// giveUpSuspects gives up the suspects, PEs that seem to have ended, of which the launcher has
// reported nothing for newsDelay: its report would have the reason. Without a launcher there is
// nothing to wait for.
func (w *Watch) giveUpSuspects() {
	w.mu.Lock()
	var due []libshmem.PE
	reasons := map[libshmem.PE]string{}
	for pe, s := range w.suspect {
		if w.orphaned || time.Since(s.since) >= newsDelay {
			due = append(due, pe)
			reasons[pe] = s.reason
		}
	}
	w.mu.Unlock()
	slices.Sort(due)
	for _, pe := range due {
		w.giveUp(pe, reasons[pe])
	}
}

// giveUp handles the loss of a PE: with SHMEM_ON_FAILURE=return the job continues without it, else
// the job ends. A PE is given up once.
func (w *Watch) giveUp(pe libshmem.PE, reason string) {
	first := w.note(pe, reason)
	w.mu.Lock()
	delete(w.suspect, pe)
	w.mu.Unlock()
	if !first || pe == w.Me {
		return
	}
	if !w.survives() {
		w.EndJob(pe, reason)
		return
	}
	w.Log.Printf("pe", config.LogInfo, "PE %d %s; this one goes on", pe, reason)
	w.lose(pe, reason)
}

// GiveUp suspects a PE that another PE has given up. The PE is lost soon, with the launcher's
// report as the reason if that arrives first.
func (w *Watch) GiveUp(pe libshmem.PE) {
	w.suspects(pe, "was given up by another PE")
	w.wake()
}

// pinging reports whether this PE has to ping: it watches others, over a network, and does not see
// the processes of all of them.
func (w *Watch) pinging() bool {
	return w.Network != nil && (w.FromStart() || w.orphaned) && slices.ContainsFunc(w.Processes, func(p meet.Process) bool { return !p.Visible() })
}

// ping pings the next of the PEs that only the network can watch. It suspects a PE to which two
// pings in a row could not be sent because a queue was full, if its host refuses connections.
func (w *Watch) ping() {
	if !w.pinging() {
		return
	}
	if time.Since(w.pinged) < pingPeriod {
		return
	}
	w.pinged = time.Now()
	n := len(w.Processes)
	for i, pings := 0, 0; i < n && pings < maxPings; i++ {
		next := (w.lastPinged + 1) % n
		pe := libshmem.PE(next)
		if pe == w.Me || w.Processes[pe].Visible() {
			w.lastPinged = next
			continue
		}
		pings++
		sent, locked := w.Network.Ping(pe)
		if !locked {
			return // another thread uses the engine: go on with this PE in the next period
		}
		w.lastPinged = next
		if sent {
			delete(w.silent, pe)
			continue
		}
		if w.silent == nil {
			w.silent = map[libshmem.PE]int{}
		}
		if w.silent[pe]++; w.silent[pe] < 2 {
			continue
		}
		if at, ok := w.Network.Socket(pe); ok && refused(at) {
			w.suspects(pe, fmt.Sprintf("cannot be reached any more: no process listens at %v", at))
		}
	}
}

// refused reports whether a host refuses connections to one of its addresses. Some providers try to
// connect for ever, and report only a full queue; a stopped process still has its sockets.
func refused(at netip.AddrPort) bool {
	family := unix.AF_INET6
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	if at.Addr().Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err == unix.ECONNREFUSED {
		return true
	} else if err != unix.EINPROGRESS {
		return false
	}
	const wait = 200 // milliseconds, for the host's reply
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if n, err := unix.Poll(fds, wait); n != 1 || err != nil {
		return false
	}
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	return err == nil && syscall.Errno(code) == unix.ECONNREFUSED
}
