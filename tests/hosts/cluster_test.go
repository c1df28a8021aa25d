package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"libshmem/runtime/bootstrap/launch/hostnet"
	"libshmem/tests/daemons"
	"libshmem/tests/need"
)

// limit is how long a job may take. It takes a second; the machine may be busy.
const limit = 2 * time.Minute

// The plain user of the hosts.
const (
	plainUser = "plain"
	plainID   = 54321
)

// cluster is host 0, where shmemrun runs, and others with an sshd each. They have addresses of IPv4
// and of IPv6.
type cluster struct {
	net   *hostnet.Network
	hosts int // with an sshd
	dir   string
	build string
	ctx   context.Context // ends with an sshd
}

// address returns a host's address of IPv6. Those of IPv4 are hostnet's.
func address(host int) string { return fmt.Sprintf("fd00:18::%x", host+1) }

func newCluster(t *testing.T, hosts int) *cluster {
	t.Helper()
	need.Namespaces(t)
	for _, name := range []string{"ssh", "sshd", "ssh-keygen", "nsenter", "setpriv"} {
		need.Command(t, name)
	}
	c := &cluster{hosts: hosts, build: need.Build(t)}
	var err error
	if c.net, err = hostnet.New(hosts+1, hostnet.Links{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.net.Close(); err != nil {
			t.Error(err)
		}
	})
	for host := range hosts + 1 {
		c.configure(t, host, func(l netlink.Link) error {
			a, err := netlink.ParseAddr(address(host) + "/64")
			if err != nil {
				return err
			}
			a.Flags = 0x02 // IFA_F_NODAD: of use at once
			return netlink.AddrAdd(l, a)
		})
	}
	if c.dir, err = os.MkdirTemp("", "hosts-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.dir) })
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.write(t)
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "testdata/sshd.sh", c.dir, c.namespace(""), fmt.Sprint(hosts))
	c.ctx = daemons.Start(t, cmd, c.dir)
	for host := 1; host <= hosts; host++ {
		need.Eventually(t, "an sshd", func() bool {
			return c.ctx.Err() != nil || c.on(0, func() error {
				conn, err := net.DialTimeout("tcp", net.JoinHostPort(address(host), "22"), time.Second)
				if err == nil {
					conn.Close()
				}
				return err
			}) == nil
		})
	}
	return c
}

func (c *cluster) namespace(host string) string {
	return fmt.Sprintf("shmemrun-%d-%s", os.Getpid(), host)
}

// write makes the keys and the configuration of ssh and of the sshds. Host hN is host N by IPv4, sN by
// IPv6, pN the same with the plain user; others are wrong in one way each.
func (c *cluster) write(t *testing.T) {
	t.Helper()
	file := func(name string) string { return filepath.Join(c.dir, name) }
	for _, key := range []string{"host", "user", "other"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput(); err != nil {
			t.Fatalf("make a key: %v\n%s", err, out)
		}
	}
	// A certificate of the hosts' key whose time has not come.
	if out, err := exec.Command("ssh-keygen", "-q", "-s", file("other"), "-I", "hosts", "-h", "-V", "20900101:20910101", file("host.pub")).CombinedOutput(); err != nil {
		t.Fatalf("certify a key: %v\n%s", err, out)
	}
	public := func(key string) string {
		text, err := os.ReadFile(file(key + ".pub"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	private, err := os.ReadFile(file("user"))
	if err != nil {
		t.Fatal(err)
	}
	// Each host has two disks of its own there.
	if err := errors.Join(os.Mkdir(file("small"), 0o755), os.Mkdir(file("roomy"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	for host := 1; host <= c.hosts; host++ {
		fmt.Fprintf(&config, "Host h%d p%d\nHostName 198.18.0.%d\nHost s%d\nHostName %s\n", host, host, host+1, host, address(host))
	}
	config.WriteString(`Host p*
User ` + plainUser + `
Host wrong unknown denied refused clock ruled
HostName 198.18.0.2
Host wrong
HostKeyAlias other
Host ruled
RemoteCommand false
RequestTTY force
Host shared
HostName 198.18.0.3
ControlMaster auto
ControlPath ` + file("%h") + `
ControlPersist 2
Host unknown
HostKeyAlias nowhere
Host clock
HostKeyAlias certified
Host denied
IdentityFile ` + file("other") + `
Host refused
Port 9
Host far
ProxyJump h1
HostName 198.18.0.3
Host absent
HostName 198.18.99.99
ConnectTimeout 1
Host !denied *
IdentityFile ` + file("user") + `
Host *
User root
HostKeyAlias cluster
IdentitiesOnly yes
StrictHostKeyChecking yes
UserKnownHostsFile ` + file("known_hosts") + `
GlobalKnownHostsFile /dev/null
SendEnv MARK
`)
	root := config.String()
	for name, text := range map[string]string{
		"passwd":          fmt.Sprintf("root:x:0:0::/root:/bin/sh\nsshd:x:123:123::/:/bin/false\n%s:x:%d:%d::%s:/bin/sh\n", plainUser, plainID, plainID, c.dir),
		"authorized_keys": public("user"),
		"known_hosts":     "cluster " + public("host") + "other " + public("other") + "@cert-authority certified " + public("other"),
		"config":          root,
		"config.plain":    strings.ReplaceAll(root, "IdentityFile "+file("user"), "IdentityFile "+file("plain.key")),
		"plain.key":       string(private),
		"sshd_config": "HostKey " + file("host") + "\nHostCertificate " + file("host-cert.pub") + "\nAuthorizedKeysFile " + file("authorized_keys") + `
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
PrintMotd no
UseDNS no
MaxStartups 100
AcceptEnv MARK
`,
	} {
		mode := os.FileMode(0o644)
		if name == "plain.key" {
			mode = 0o600
		}
		if err := os.WriteFile(file(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(file("plain.key"), plainID, plainID); err != nil {
		t.Fatal(err)
	}
}

// on has f run on a host.
func (c *cluster) on(host int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in the namespace
		err := c.net.Enter(host)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// configure changes the interface of a host.
func (c *cluster) configure(t *testing.T, host int, f func(netlink.Link) error) {
	t.Helper()
	if err := c.on(host, func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return f(l)
	}); err != nil {
		t.Fatalf("host %d: %v", host, err)
	}
}

// sixAlone takes the addresses of IPv4 from hosts.
func (c *cluster) sixAlone(t *testing.T, hosts ...int) {
	t.Helper()
	for _, host := range hosts {
		c.configure(t, host, func(l netlink.Link) error {
			all, err := netlink.AddrList(l, netlink.FAMILY_V4)
			for _, a := range all {
				err = errors.Join(err, netlink.AddrDel(l, &a))
			}
			return err
		})
	}
}

// mark returns a variable that identifies the processes of a test on all hosts.
func mark(t *testing.T) string { return "MARK=" + strings.ReplaceAll(t.Name(), "/", "-") + "." }

// job is one run of shmemrun.
type job struct {
	*exec.Cmd
	ctx    context.Context
	cancel context.CancelFunc
	out    output
}

// output is what a job has written so far.
type output struct {
	sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.Lock()
	defer o.Unlock()
	return o.text.String()
}

// prepare returns shmemrun on host 0 with these arguments.
func (c *cluster) prepare(t *testing.T, args ...string) *job {
	t.Helper()
	run := append([]string{filepath.Join(c.build, "bin", "shmemrun"), "--ssh", "ssh -F " + filepath.Join(c.dir, "config")}, args...)
	return c.command(t, run...)
}

// command returns a command on host 0.
func (c *cluster) command(t *testing.T, argv ...string) *job {
	t.Helper()
	j := &job{}
	j.ctx, j.cancel = context.WithTimeoutCause(c.ctx, limit, errors.New("does not end"))
	t.Cleanup(j.cancel)
	argv = append([]string{"--net=/run/netns/" + c.namespace("0")}, argv...)
	j.Cmd = exec.CommandContext(j.ctx, "nsenter", argv...)
	j.Env = append(os.Environ(), "SHMEM_SYMMETRIC_SIZE=8m", "SHMEM_LOG_LEVEL=info", "SHMEM_PROVIDER=tcp", mark(t))
	j.Stdout, j.Stderr = &j.out, &j.out
	j.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.Cancel = func() error { return syscall.Kill(-j.Process.Pid, syscall.SIGKILL) }
	j.WaitDelay = 5 * time.Second
	return j
}

// end runs the job, or waits for its end, and returns its output and status. Nothing of it is then
// left on any host.
func (j *job) end(t *testing.T) (string, int) {
	t.Helper()
	var err error
	if j.Process == nil {
		err = j.Run()
	} else {
		err = j.Wait()
	}
	var exit *exec.ExitError
	if j.ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v, %v\n%s", j.Args, err, context.Cause(j.ctx), j.out.String())
	}
	alone(t)
	return j.out.String(), j.ProcessState.ExitCode()
}

// run runs shmemrun to its end.
func (c *cluster) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return c.prepare(t, args...).end(t)
}

// alone waits for the end of all processes of the test.
func alone(t *testing.T) {
	t.Helper()
	need.Eventually(t, "the end of all processes", func() bool { return len(processes(t)) == 0 })
}

// processes lists those of the test: programs with its mark.
func processes(t *testing.T) (left []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		env, _ := os.ReadFile(file)
		if bytes.Contains(env, []byte(mark(t))) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			left = append(left, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(file)), line))
		}
	}
	return left
}
