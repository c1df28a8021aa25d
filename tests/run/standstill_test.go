package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// A standstill is a way to run tests/c/standstill.c.
type standstill struct {
	// provider is the value of SHMEM_PROVIDER, "" for the library's own choice.
	provider    string
	pes, hosts  int
	namespaces  bool
	busy        bool // two loops use the processors too
	puts        int
	push, times int           // runs of make test, and of make test-full
	network     *stub.Network // of NICs that this machine does not have; nil: its own
}

// Most runs use the default provider of jobs, where 10,000 puts of each size take 2 s. Over
// udp;ofi_rxd and shm they take half a minute, and beside busy loops up to five times as long, so
// fewer are made there. 2,000 puts were enough to show the standstill in one run of three.
var standstills = []standstill{
	{pes: 4, hosts: 2, puts: 10000, push: 1, times: 3},
	{pes: 4, hosts: 4, puts: 5000, times: 1},
	{pes: 3, hosts: 3, puts: 5000, push: 1, times: 1},
	{pes: 2, hosts: 2, puts: 10000, times: 1},
	{pes: 4, hosts: 2, namespaces: true, puts: 5000, times: 1},
	{pes: 4, hosts: 4, namespaces: true, puts: 5000, times: 1},
	{pes: 2, hosts: 2, namespaces: true, puts: 10000, push: 1, times: 1},
	{pes: 4, hosts: 2, busy: true, puts: 1000, times: 2},
	{pes: 3, hosts: 3, busy: true, puts: 1000, times: 1},
	{pes: 2, hosts: 2, busy: true, puts: 5000, times: 1},
	{pes: 4, hosts: 4, namespaces: true, busy: true, puts: 1000, push: 1, times: 1},
	{provider: "net", pes: 4, hosts: 2, puts: 5000, push: 1, times: 1},
	{provider: "tcp;ofi_rxm", pes: 4, hosts: 2, puts: 5000, push: 1, times: 1},
	{provider: "tcp;ofi_rxm", pes: 2, hosts: 2, namespaces: true, busy: true, puts: 2000, times: 1},
	{provider: "net;ofi_rxm", pes: 4, hosts: 2, puts: 5000, push: 1, times: 1},
	{provider: "udp;ofi_rxd", pes: 2, hosts: 2, puts: 500, push: 1, times: 1},
	{provider: "shm", pes: 4, hosts: 2, puts: 500, push: 1, times: 1},
}

// wholePuts is the number of puts of every run with -whole.
const wholePuts = 10000

func (s *standstill) String() string {
	provider := s.provider
	if provider == "" {
		provider = "default"
	}
	name := fmt.Sprintf("%s-%d-hosts-%d", provider, s.pes, s.hosts)
	if s.namespaces {
		name += "-netns"
	}
	if s.busy {
		name += "-busy"
	}
	return name
}

// A machine is where jobs run: this one, or a root with another libfabric.
type machine struct {
	enter []string // comes before a command
	build string   // the build directory as it is named there
}

func (m *machine) command(program ...string) []string {
	program[0] = filepath.Join(m.build, program[0])
	return append(slices.Clone(m.enter), program...)
}

// answers matches the line of a provider that a job uses, or would use if SHMEM_PROVIDER named it;
// every other line names the error.
var answers = regexp.MustCompile(`(?m)^[* ] +(\S+) +\S+ +\S+ +(?:-|\S+ comes first: .*|it is used only if SHMEM_PROVIDER names it)$`)

func (m *machine) providers(t *testing.T) []string {
	t.Helper()
	argv := m.command("bin/shmem-info", "--fabric")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = withoutChoice()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	var names []string
	for _, line := range answers.FindAllSubmatch(out, -1) {
		names = append(names, string(line[1]))
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		t.Fatalf("shmem-info --fabric: no provider answers\n%s", out)
	}
	return names
}

// withoutChoice returns the environment without a choice of the provider.
func withoutChoice() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SHMEM_PROVIDER=") })
}

// TestStandstill runs programs of puts, a reduction and a barrier: no job may hang with bytes
// unread. With -whole it has 200 runs here and 100 with the libfabric of Debian 13.
func TestStandstill(t *testing.T) {
	here := machine{build: need.Build(t)}
	rounds := 1
	if *runWhole {
		rounds = 10
	}
	t.Run("here", func(t *testing.T) { here.standstills(t, rounds) })
	t.Run("debian", func(t *testing.T) {
		if !*runWhole {
			t.Skip("takes minutes, and a system of its own (-whole)")
		}
		there := debian(t)
		there.standstills(t, rounds/2)
	})
}

// TestStubStandstill makes the same puts over NICs of the stub: data for a sleeping PE arrives
// within a second, whether a descriptor wakes the PE or it sleeps for a limited time, and no wait
// is overslept.
func TestStubStandstill(t *testing.T) {
	here := machine{build: need.Build(t)}
	puts := 2000
	if *runWhole {
		puts = wholePuts
	}
	for _, n := range stub.Networks(*runWhole) {
		for _, hosts := range []int{2, 4} {
			t.Run(fmt.Sprintf("%s-hosts-%d", n.Name, hosts), func(t *testing.T) {
				here.standstill(t, standstill{pes: 4, hosts: hosts, puts: puts, network: &n})
			})
		}
	}
}

// enter runs a command in a root, with the build directory as /libshmem. Its mounts are in a
// separate mount namespace, so that nothing is left however it ends.
const enter = `root=$1 build=$2; shift 2
for at in proc dev sys; do mount --rbind "/$at" "$root/$at"; done
mkdir -p "$root/libshmem"
mount --bind "$build" "$root/libshmem"
exec chroot "$root" "$@"`

// debian returns this machine with the libfabric of Debian 13.
func debian(t *testing.T) machine {
	t.Helper()
	root := need.Debian(t)
	return machine{
		enter: []string{"unshare", "--mount", "--propagation", "private", "sh", "-euc", enter, "enter", root, need.Build(t)},
		build: "/libshmem",
	}
}

// standstills runs each row of the table a number of times. If a provider is not available the
// default one is used.
func (m *machine) standstills(t *testing.T, rounds int) {
	need.Namespaces(t)
	names := m.providers(t)
	t.Logf("providers that answer: %s", strings.Join(names, " "))
	began := time.Now()
	var over []string
	runs := 0
	for round := range rounds {
		for _, s := range standstills {
			if !slices.Contains(names, s.provider) {
				s.provider = ""
			}
			s.puts = s.puts * need.Load("standstill") / 100
			times := s.push
			if need.Full() {
				times = s.times
			}
			if *runWhole {
				s.puts, times = wholePuts, s.times
			}
			over = append(over, s.provider)
			for range times {
				runs++
				t.Run(fmt.Sprintf("%s-%d", &s, round), func(t *testing.T) { m.standstill(t, s) })
			}
		}
	}
	t.Logf("%d runs: %.0f s", runs, time.Since(began).Seconds())
	for _, name := range names {
		if !slices.Contains(over, name) && !slices.Contains([]string{"net;msg", "tcp;msg", "tcp"}, name) {
			t.Errorf("%s answers, and no run is over it (give it a row in standstills)", name)
		}
	}
}

var (
	stood     = regexp.MustCompile(`reduction at most ([0-9.]+) s, barrier ([0-9.]+) s`)
	overslept = regexp.MustCompile(`overslept: (\d+)`)
)

func (m *machine) standstill(t *testing.T, s standstill) {
	const limit = 3 * time.Minute
	longest := "1"
	if s.busy {
		longest = "3"
		defer spin(t)()
	}
	argv := m.command("bin/shmemrun", "--timeout", strconv.Itoa(int(limit.Seconds())),
		"-n", strconv.Itoa(s.pes), "--hosts", strconv.Itoa(s.hosts))
	if s.namespaces {
		argv = append(argv, "--host-netns")
	}
	argv = append(argv, filepath.Join(m.build, "tests", "standstill"), strconv.Itoa(s.puts), longest)
	env := withoutChoice()
	if s.network != nil {
		env = append(env, s.network.Env(stub.Build(t))...)
		if s.network.Blind {
			argv = append(argv, "0") // waits by time are never overslept
		}
	}
	if s.provider != "" {
		env = append(env, "SHMEM_PROVIDER="+s.provider)
	}
	began := time.Now()
	out, err := launch(limit, argv, env)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(argv, " "), excerpt(out))
	}
	most := 0.0
	for _, line := range stood.FindAllStringSubmatch(out, -1) {
		for _, v := range line[1:] {
			seconds, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, seconds)
		}
	}
	t.Logf("%d puts of each size: %.1f s, at most %.3f s behind the last PE, %s", s.puts, time.Since(began).Seconds(),
		most, overslept.FindString(out))
}

// spin keeps two processors busy until its result is called.
func spin(t *testing.T) (stop func()) {
	var loops []*exec.Cmd
	for range 2 {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	return func() {
		for _, loop := range loops {
			_ = loop.Process.Kill()
			_ = loop.Wait() // it was killed
		}
	}
}
