package pods

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem/runtime/bootstrap/launch/hostnet"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

const (
	// limit is how long a pod may take. It takes a second; the machine may be busy.
	limit  = 3 * time.Minute
	secret = "0123456789abcdef0123456789abcdef"
	port   = "1B58" // 7000, as /proc/net/tcp writes it
)

func dialTo(address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
}

// cluster has hosts for pods: namespace 0 is that of the name server.
type cluster struct {
	net     *hostnet.Network
	names   *names
	program string

	mu   sync.Mutex
	used int // hosts
	jobs int
}

func newCluster(t *testing.T, pods int) *cluster {
	t.Helper()
	need.Namespaces(t)
	for _, name := range []string{"nsenter", "unshare"} {
		need.Command(t, name)
	}
	build := need.Build(t)
	c := &cluster{names: newNames(), program: cc.Program(t, build, "testdata/pod.c", "-Wl,-rpath,"+filepath.Join(build, "lib"))}
	var err error
	if c.net, err = hostnet.New(pods+1, hostnet.Links{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.net.Close(); err != nil {
			t.Error(err)
		}
	})
	var conn net.PacketConn
	c.on(t, 0, func() (err error) {
		conn, err = net.ListenPacket("udp", address(0).String()+":53")
		return err
	})
	t.Cleanup(func() { conn.Close() })
	go c.names.serve(conn)
	return c
}

// on has f run on a host.
func (c *cluster) on(t *testing.T, host int, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in the namespace
		err := c.net.Enter(host)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("host %d: %v", host, err)
	}
}

// address returns a host's address, as hostnet gives it.
func address(host int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(host + 1)}) }

// job is the pods of one job, in a domain of its own.
type job struct {
	*cluster
	t      *testing.T
	domain string
	resolv string
	size   int
	env    []string // for each pod
	args   []string
}

// newJob returns a job of this size; its settings replace those of the manifest.
func (c *cluster) newJob(t *testing.T, size int, env ...string) *job {
	t.Helper()
	c.mu.Lock()
	c.jobs++
	j := &job{cluster: c, t: t, domain: fmt.Sprintf("job%d.svc.cluster.test", c.jobs), size: size}
	c.mu.Unlock()
	j.env = append(append(manifest(t),
		"SHMEM_BOOTSTRAP_NPES="+strconv.Itoa(size), "SHMEM_BOOTSTRAP_SECRET="+secret,
		"SHMEM_SYMMETRIC_SIZE=8m", "SHMEM_LOG_LEVEL=info", "SHMEM_PROVIDER=tcp"), env...)
	j.resolv = filepath.Join(t.TempDir(), "resolv.conf")
	text := fmt.Sprintf("nameserver %v\nsearch %s svc.cluster.test cluster.test\noptions ndots:5\n", address(0), j.domain)
	if err := os.WriteFile(j.resolv, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return j
}

var (
	setting   = regexp.MustCompile(`(?m)^ *- \{name: (SHMEM_\w+), value: "?([^"}]*)"?\}$`)
	fromValue = regexp.MustCompile(`(?m)^ *- name: (SHMEM_\w+)\n *valueFrom: \{secretKeyRef: `)
)

// manifest has the settings that the pods of the example get.
func manifest(t *testing.T) (env []string) {
	t.Helper()
	text, err := os.ReadFile("../../examples/kubernetes/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range setting.FindAllSubmatch(text, -1) {
		env = append(env, string(m[1])+"="+string(m[2]))
	}
	if m := fromValue.FindSubmatch(text); len(env) != 3 || m == nil || string(m[1]) != "SHMEM_BOOTSTRAP_SECRET" {
		t.Fatalf("the manifest has the settings %q, and %q from a Secret: not those that this test knows", env, m)
	}
	return env
}

func (j *job) name(index int) string { return fmt.Sprintf("shmem-%d.shmem.%s", index, j.domain) }

// pod is a process in a namespace of its own.
type pod struct {
	*exec.Cmd
	t     *testing.T
	index int
	host  int
	ended chan struct{}
	mu    sync.Mutex
	text  bytes.Buffer
}

func (p *pod) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pod) out() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// start starts a pod, and publishes its name.
func (j *job) start(index int, env ...string) *pod {
	j.t.Helper()
	p := j.startUnpublished(index, env...)
	j.names.publish(j.name(index), address(p.host))
	return p
}

// startUnpublished starts a pod at a new address.
func (j *job) startUnpublished(index int, env ...string) *pod {
	j.t.Helper()
	j.mu.Lock()
	j.used++
	p := &pod{t: j.t, index: index, host: j.used, ended: make(chan struct{})}
	j.mu.Unlock()
	script := `mount --bind "$1" /etc/resolv.conf && hostname "$2" && shift 2 && exec "$@"`
	argv := append([]string{
		"--net=" + filepath.Join("/run/netns", fmt.Sprintf("shmemrun-%d-%d", os.Getpid(), p.host)),
		"unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", script, "sh", j.resolv, fmt.Sprintf("shmem-%d", index), j.program,
	}, j.args...)
	p.Cmd = exec.Command("nsenter", argv...)
	p.Env = append(append(os.Environ(), j.env...), "JOB_COMPLETION_INDEX="+strconv.Itoa(index))
	p.Env = append(p.Env, env...) // the last of a name counts
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		j.t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // its status is read below
		close(p.ended)
	}()
	j.t.Cleanup(p.kill)
	return p
}

// kill ends the pod as the kernel does, without a word to the program.
func (p *pod) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// end waits for the end of a pod and returns its status.
func (p *pod) end() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Fatalf("pod %d does not end:\n%s", p.index, p.out())
	}
	return p.ProcessState.ExitCode()
}

// says waits until the pod has printed a text.
func (p *pod) says(text string) {
	p.t.Helper()
	for end := time.Now().Add(limit); !strings.Contains(p.out(), text); time.Sleep(time.Millisecond) {
		select {
		case <-p.ended:
			if !strings.Contains(p.out(), text) {
				p.t.Fatalf("pod %d has not said %q:\n%s", p.index, text, p.out())
			}
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("pod %d does not say %q:\n%s", p.index, text, p.out())
		}
	}
}

// still fails the test if the pod has ended.
func (p *pod) still() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("pod %d has ended:\n%s", p.index, p.out())
	default:
	}
}

// asks waits until the pod has asked for the address of pod 0 more than once, in vain.
func (j *job) asks(p *pod) {
	j.t.Helper()
	need.Eventually(j.t, "questions for the name of pod 0", func() bool {
		p.still()
		return j.names.refused(j.name(0)) > 2 // a question for IPv4 and one for IPv6 each time
	})
}

// connected waits until the pod has a connection to the port of PE 0.
func (j *job) connected(p *pod) {
	j.t.Helper()
	open := regexp.MustCompile(` [0-9A-F]{8}:` + port + ` 01 `)
	need.Eventually(j.t, fmt.Sprintf("a connection of pod %d", p.index), func() bool {
		var table []byte
		j.on(j.t, p.host, func() (err error) {
			table, err = os.ReadFile("/proc/thread-self/net/tcp")
			return err
		})
		p.still()
		return open.Match(table)
	})
}

// works expects that all pods of a job end well.
func (j *job) works(pods ...*pod) {
	j.t.Helper()
	for _, p := range pods {
		want := fmt.Sprintf("PE %d of %d: PE %d wrote to me\n", p.index, j.size, (p.index+j.size-1)%j.size)
		if status := p.end(); status != 0 || !strings.Contains(p.out(), want) {
			j.t.Errorf("pod %d: status %d, not 0 with %q:\n%s", p.index, status, want, p.out())
		}
	}
}

// fails expects that a pod ends with an error.
func (p *pod) fails(text string) {
	p.t.Helper()
	if status := p.end(); status == 0 || !strings.Contains(p.out(), text) {
		p.t.Errorf("pod %d: status %d, not an error with %q:\n%s", p.index, status, text, p.out())
	}
}

// TestMain has all jobs run at once: they use little of a processor, and wait most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
