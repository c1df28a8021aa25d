package wire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// pair is two hosts, the proxy between them, and a program.
type pair struct {
	*proxy
	shmemrun, program string
}

// outcome is how a job ended.
type outcome struct {
	what   string // in words, the same for the same kind of end
	defect bool   // of this library
	done   string // what the attack did
	output string
}

// output is what a job says.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
	// waits is closed at the first report of a wait.
	waits chan struct{}
	once  sync.Once
}

var waited = regexp.MustCompile(`shmem: PE (\d): \S+ has waited \d+ s: (.*)`)

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.b.Write(b)
	if waited.Match(o.b.Bytes()) {
		o.once.Do(func() { close(o.waits) })
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// afterReport is how long a job goes on after the report of a wait.
const afterReport = 500 * time.Millisecond

// limit is the seconds after which a job without a report is a defect. Waits are reported after 1 s,
// and hosts that do not meet after 10.
const limit = 40

// run runs a job under an attack.
func (p *pair) run(provider string, a attack) (outcome, error) {
	p.begin(provider, a)
	cmd := exec.Command(p.shmemrun, "-n", "2", "--hosts", "2", "--timeout", strconv.Itoa(limit), "--bind=none",
		"-x", "SHMEM_PROVIDER="+provider, "-x", "SHMEM_NIC_LIST=eth0", "-x", "SHMEM_SYMMETRIC_SIZE=4M",
		"-x", "SHMEM_TIMEOUT=1", "-x", "SHMEM_BOOTSTRAP_TIMEOUT=10",
		"sh", "-c", `[ $SHMEM_LAUNCHER_PE = 0 ] || set -- "$2"; exec nsenter --net="$1" "$0"`, p.program, p.hosts[0].path(), p.hosts[1].path())
	out := &output{waits: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(filepath.Dir(p.shmemrun)), "lib"))
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	reported := out.waits
	if a.kind == nothing {
		reported = nil // a busy machine may let a job wait for a second
	}
	select {
	case err = <-ended:
	case <-reported:
		select {
		case err = <-ended:
		case <-time.After(afterReport):
			_ = cmd.Process.Signal(syscall.SIGTERM)
			err = <-ended
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	o := judge(a, cmd.ProcessState.ExitCode(), out.String())
	_, o.done = p.result()
	return o, nil
}

var (
	checked  = regexp.MustCompile(`(?m)^PE \d: (\d+) changed, (\d+) outside, the first at \S+$`)
	reported = regexp.MustCompile(`(?m)^shmem: PE \d: .*PE \d|^shmem: PE \d: .* over \S+|^shmem: shmem_init: .*PE \d`)
	faulted  = regexp.MustCompile(`(?m)^shmemrun: PE \d was killed by signal (4|7|8|11) `)
	panicked = regexp.MustCompile(`(?m)^panic: |^goroutine \d+ \[|internal error: `)
	inside   = regexp.MustCompile(`signal arrived during cgo execution`)
)

// judge says how a job has ended, and whether that is a defect of this library: an end or a wait
// without a report, a panic, bytes that were written elsewhere or a fault although no header of
// libfabric was changed.
func judge(a attack, status int, out string) (o outcome) {
	o.output = out
	changed, outside := 0, 0
	all := checked.FindAllStringSubmatch(out, -1)
	for _, m := range all {
		n, _ := strconv.Atoi(m[1])
		changed += n
		n, _ = strconv.Atoi(m[2])
		outside += n
	}
	within := a.kind == repeat || a.kind == replay || a.kind == change && a.layer == theirs
	switch {
	case outside > 0:
		o.what, o.defect = "bytes outside of the targets", !within
	case faulted.MatchString(out) || panicked.MatchString(out) && inside.MatchString(out):
		o.what, o.defect = "a fault inside libfabric", !within
	case panicked.MatchString(out):
		o.what, o.defect = "a panic", true
	case status == 0 && len(all) == 2 && changed > 0:
		o.what = "other bytes in targets"
	case status == 0 && len(all) == 2:
		o.what = "no harm"
	case waited.MatchString(out):
		o.what = "a wait that is reported"
	case status != 0 && reported.MatchString(out):
		o.what = "a report"
	default:
		o.what, o.defect = fmt.Sprintf("status %d without a report", status), true
	}
	return o
}
