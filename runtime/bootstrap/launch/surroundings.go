package launch

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/topo"
)

// surroundings are the facts, in addition to the machine's cores and NUMA nodes (topo.Processors),
// that decide to which processors PEs are bound, and whether they are bound by default.
type surroundings struct {
	allowed topo.Set // the processors that shmemrun may use
	quota   int      // how many processors' time the control group may use; 0: not known
	alone   bool     // no other job of shmemrun is known on this machine
	running int      // threads of the machine that run or are ready to run, without shmemrun's
}

// readSurroundings finds the facts out. alone: no other job of shmemrun is known.
func readSurroundings(env []string, alone bool) *surroundings {
	at := &surroundings{allowed: topo.Allowed(), alone: alone}
	if _, set := variable(env, "GOMAXPROCS"); !set {
		at.quota = runtime.GOMAXPROCS(0) // Go reads the control group's limit
	}
	// alone misses jobs in other network namespaces, such as containers, and programs that no
	// shmemrun has started, so count the threads that run. Threads of the system run only for a
	// moment: count up to six times, until the threads are too few to keep PEs from being bound
	// (tolerated), and use the least count.
	at.running = running()
	for tries := 0; tries < 5 && at.running > tolerated(at.allowed.Count()); tries++ {
		time.Sleep(2 * time.Millisecond)
		at.running = min(at.running, running())
	}
	return at
}

// running returns how many threads of the machine run or are ready to run, without the calling one;
// 0 if the kernel does not say.
func running() int {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)) // three averages, running/all, the last process
	if len(fields) < 4 {
		return 0
	}
	now, _, _ := strings.Cut(fields[3], "/")
	n, err := strconv.Atoi(now)
	if err != nil {
		return 0
	}
	return max(n-1, 0)
}

// jobName is the prefix of the sockets by which jobs of a host find each other.
const jobName = "@libshmem/job/"

// presence is a socket by whose name other jobs on the machine learn of this one. The name is
// abstract: it needs no folder to which users and containers can write, and disappears with
// shmemrun, however that ends. The socket accepts no connections. Any process can make such a name,
// and so keep jobs from binding their PEs, but do no other harm.
type presence struct{ fd int }

// announce makes the presence of a job, and reports whether no other job has one. Of two jobs that
// start at the same time each sees the other. A job in another network namespace is not seen.
func announce(prefix string) (*presence, bool, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, false, fmt.Errorf("announce job: %w", err)
	}
	p := &presence{fd}
	name := prefix + rand.Text()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		p.Close()
		return nil, false, fmt.Errorf("announce job: %w", err)
	}
	list, err := os.ReadFile("/proc/net/unix")
	if err == nil && !bytes.Contains(list, []byte(" "+name+"\n")) {
		err = errors.New("/proc/net/unix is not of this network namespace")
	}
	if err != nil {
		p.Close()
		return nil, false, fmt.Errorf("announce job: %w", err)
	}
	return p, bytes.Count(list, []byte(" "+prefix)) == 1, nil
}

// Close closes the socket, so that other jobs on this machine no longer see this job. p may be nil.
func (p *presence) Close() {
	if p != nil {
		_ = unix.Close(p.fd)
	}
}
