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

// surroundings are the facts about shmemrun and its machine, besides the processors, that decide
// whether PEs are bound by default.
type surroundings struct {
	allowed topo.Set // the processors of shmemrun
	quota   int      // processors of which the control group has the time; 0: not known
	alone   bool     // no other job of shmemrun is known
	running int      // threads that run or want to, without shmemrun's
}

func readSurroundings(env []string, alone bool) *surroundings {
	at := &surroundings{allowed: topo.Allowed(), alone: alone}
	if _, set := variable(env, "GOMAXPROCS"); !set {
		at.quota = runtime.GOMAXPROCS(0) // Go reads the control group's limit
	}
	// Other users and containers have jobs that are not seen, and work of other kinds. Threads of
	// the system run for a moment, so the least number of several counts.
	at.running = running()
	for tries := 0; tries < 5 && at.running > tolerated(at.allowed.Count()); tries++ {
		time.Sleep(2 * time.Millisecond)
		at.running = min(at.running, running())
	}
	return at
}

// running is the number of threads of the machine that run or want to, without the calling one. It
// is 0 where the kernel does not say.
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

// presence is a socket by which other jobs on the machine learn of this one. Its name is abstract:
// it needs no folder to which users and containers can write, leaves nothing behind, and ends with
// shmemrun, however that ends. It takes no connections. Any process can make such a name, and
// thereby keep jobs from being bound, but nothing else.
type presence struct{ fd int }

// announce makes the presence of a job. It reports whether no other job is known: of two that start
// at the same time each sees the other. Jobs in other network namespaces are not seen.
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

// Close ends it; nil is none.
func (p *presence) Close() {
	if p != nil {
		_ = unix.Close(p.fd)
	}
}
