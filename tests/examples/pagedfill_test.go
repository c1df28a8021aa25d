package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// filler builds examples/pagedfill, or the client of testdata that misbehaves.
func filler(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(programs, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	dir, lib := filepath.Join(sources, "pagedfill"), filepath.Join(build, "lib")
	files, err := filepath.Glob(filepath.Join(dir, "*.cc"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list %s: %d files, error %v", dir, len(files), err)
	}
	level := "-O2" // it prints figures
	if name == "liar" {
		level = "-O0"
		files = []string{filepath.Join(dir, "job.cc"), filepath.Join("testdata", "liar.cc")}
	}
	args := []string{"-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", level, "-I" + dir,
		"-I" + filepath.Join(root, "include"), "-o", program}
	cc.Run(t, cc.CXX(), append(append(args, files...), "-L"+lib, "-lshmem")...)
	return program
}

// A fill is a job of pagedfill by several commands.
type fill struct {
	servers, clients int
	options          []string
	settings         []string // of all
	apart            bool     // servers and clients are on two simulated hosts
	others           [][]string
}

// run starts the servers, the clients, and the commands others, which are clients, too, and returns
// the results in this order.
func (f fill) run(t *testing.T) []result {
	t.Helper()
	program := filler(t, "pagedfill")
	options := append([]string{"--id", filepath.Join(t.TempDir(), "id"), "--servers", strconv.Itoa(f.servers),
		"--clients", strconv.Itoa(f.clients + len(f.others))}, f.options...)
	settings := append([]string{"SHMEM_ON_FAILURE=return"}, f.settings...)
	on := func(host string) []string {
		if !f.apart {
			return settings
		}
		return append(settings[:len(settings):len(settings)], "SHMEM_HOST_ID="+host)
	}
	results := make([]result, 2+len(f.others))
	var wg sync.WaitGroup
	wg.Go(func() {
		results[0] = shmemrun(t, on("servers"), append([]string{"-n", strconv.Itoa(f.servers), program, "serve"}, options...)...)
	})
	if f.clients > 0 {
		wg.Go(func() {
			results[1] = shmemrun(t, on("clients"), append([]string{"-n", strconv.Itoa(f.clients), program, "client"}, options...)...)
		})
	}
	for i, command := range f.others {
		wg.Go(func() {
			args := append(append([]string{"-n", "1"}, command...), "client", "--first", strconv.Itoa(f.clients+i))
			results[2+i] = shmemrun(t, on("clients"), append(args, options...)...)
		})
	}
	wg.Wait()
	return results
}

var verifiedFill = regexp.MustCompile(`(?m)^client PE \d+: (\d+) rounds of (\d+) pages of (\d+) bytes: every byte verified, \d+\.\d{3} GB/s$`)

// filled checks that servers and clients report success, each client once.
func filled(t *testing.T, f fill, results []result) {
	t.Helper()
	if results[0].status != 0 || results[1].status != 0 {
		t.Fatalf("servers: %v\nclients: %v", results[0], results[1])
	}
	if n := len(verifiedFill.FindAllString(results[1].stdout, -1)); n != f.clients {
		t.Errorf("%d clients report, want %d\n%v", n, f.clients, results[1])
	}
	if strings.Contains(results[1].stderr, "\r") {
		t.Errorf("a bar where stderr is no terminal\n%v", results[1])
	}
}

// fills returns the ways to run it; on each push the short ones.
func fills(t *testing.T) map[string]fill {
	pages := []string{"--pages", strconv.Itoa(need.Load("fill")), "--rounds", "2"}
	efa := stub.Networks(false)[0]
	tcp := "SHMEM_PROVIDER=tcp"
	all := map[string]fill{
		"node":  {servers: 1, clients: 4, options: pages},
		"hosts": {servers: 1, clients: 4, options: pages, settings: []string{tcp}, apart: true},
		"odd": {servers: 3, clients: 2, settings: []string{tcp}, apart: true,
			options: []string{"--pages", "101", "--page-bytes", "1736", "--buffers", "7", "--own-memory", "--measure", "1"}},
		"last word":       {servers: 2, clients: 2, options: append(pages, "--last-word", "--measure", "1"), settings: []string{tcp}, apart: true},
		"last word, node": {servers: 1, clients: 2, options: append(pages, "--last-word")},
		"few":             {servers: 2, clients: 1, options: []string{"--pages", "1", "--page-bytes", "8", "--buffers", "3"}},
		"gpu": {servers: 1, clients: 2, options: []string{"--pages", "60"}, apart: true,
			settings: []string{tcp, "SHMEM_HEAP=device", "FAKE_CUDA=works=1", "LD_LIBRARY_PATH=" + cudatest.Build(t)}},
	}
	if !need.Full() {
		return all
	}
	// Over the stub's NICs, of which four share the pages in one case.
	library := stub.Build(t)
	all["efa"] = fill{servers: 1, clients: 4, options: pages, settings: efa.Env(library), apart: true}
	all["efa, four NICs"] = fill{servers: 2, clients: 4, options: pages, settings: efa.NICs(4, 6).Env(library), apart: true}
	return all
}

func TestPagedFill(t *testing.T) {
	for name, f := range fills(t) {
		t.Run(name, func(t *testing.T) { filled(t, f, f.run(t)) })
	}
}

// TestPagedFillLastWord asks for pages of which the last one announces all, where nothing keeps them
// in order: over EFA, over two NICs, and on a network with chaos.
func TestPagedFillLastWord(t *testing.T) {
	efa, library := stub.Networks(false)[0], stub.Build(t)
	for name, settings := range map[string][]string{
		"efa": efa.Env(library), "verbs, two NICs": stub.Named("verbs").NICs(2, 2).Env(library), "chaos": {"SHMEM_PROVIDER=tcp", "SHMEM_CHAOS=3"},
	} {
		t.Run(name, func(t *testing.T) {
			results := fill{servers: 1, clients: 1, apart: true, settings: settings, options: []string{"--pages", "10", "--last-word"}}.run(t)
			cause := "the path to PE 1 keeps no order, so the word of the last page may come before other pages (ask for notifications)"
			if r := results[0]; r.status != 0 || !strings.Contains(r.stderr, "PE 0: refuse a request of PE 1: "+cause) {
				t.Errorf("server: %v", r)
			}
			if r := results[1]; r.status != 1 || !strings.Contains(r.stderr, "PE 1: server PE 0 refused the request: "+cause) {
				t.Errorf("client: %v", r)
			}
		})
	}
}

// TestPagedFillAgain has several clients get pages while the network refuses postings: a third of
// them on the stub's NICs, as FI_EAGAIN, and under chaos. Each client gets every page once, and the
// server's counter says that postings were refused.
func TestPagedFillAgain(t *testing.T) {
	efa := stub.Networks(false)[0].With("again=3")
	for name, settings := range map[string][]string{
		"efa": efa.Env(stub.Build(t)), "chaos": {"SHMEM_PROVIDER=tcp", "SHMEM_CHAOS=6,again=0.3,delay=20ms"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fill{servers: 1, clients: 4, apart: true, settings: append(settings, "SHMEM_STATS=1"),
				options: []string{"--pages", strconv.Itoa(need.Load("fill")), "--rounds", "2"}}
			results := f.run(t)
			filled(t, f, results)
			m := regexp.MustCompile(`retries\D+(\d+)`).FindStringSubmatch(results[0].stderr)
			if m == nil || m[1] == "0" {
				t.Errorf("nothing was refused: %v", results[0])
			}
			t.Log(m)
		})
	}
}

func TestPagedFillProgress(t *testing.T) {
	f := fill{servers: 1, clients: 2, options: []string{"--pages", "60", "--rounds", "2", "--progress"}}
	clients := f.run(t)[1]
	bars := regexp.MustCompile(`\r(#*)(\.*) +(\d+)% of 3\.9 MB`).FindAllStringSubmatch(clients.stderr, -1)
	whole := 0
	for _, m := range bars {
		if len(m[1])+len(m[2]) != 40 {
			t.Errorf("a bar of %d", len(m[1])+len(m[2]))
		}
		if m[3] == "100" && len(m[1]) == 40 {
			whole++
		}
	}
	if clients.status != 0 || whole != 2 || strings.Contains(clients.stdout, "\r") {
		t.Errorf("%d whole bars of two rounds\n%v", whole, clients)
	}
}

// TestPagedFillLies sends what a server must refuse, beside a client that is served.
func TestPagedFillLies(t *testing.T) {
	f := fill{servers: 1, clients: 1, options: []string{"--pages", "40"}, settings: []string{"SHMEM_PROVIDER=tcp"}, apart: true,
		others: [][]string{{filler(t, "liar"), "lies"}, {filler(t, "liar"), "deaf"}}}
	results := f.run(t)
	filled(t, f, results)
	if r := results[2]; r.status != 0 || !strings.Contains(r.stdout, "47 passed, 0 failed\n") {
		t.Errorf("lies: %v\nservers: %v", r, results[0])
	}
	if r := results[3]; r.status != 0 || !strings.Contains(r.stdout, "1 passed, 0 failed\n") {
		t.Errorf("deaf: %v", r)
	}
	if n := strings.Count(results[0].stderr, "refuse a request of PE 2: "); n != 21 {
		t.Errorf("the server says %d refusals of 21\n%v", n, results[0])
	}
	if !strings.Contains(results[0].stderr, "answer PE 3: it has too many answers that it has not received") {
		t.Errorf("the server dropped no answer\n%.3000s", results[0])
	}
}

// TestPagedFillVanish kills a client in the middle of its pages, and one in the middle of its
// request. The others get every page.
func TestPagedFillVanish(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprint("apart ", apart), func(t *testing.T) {
			f := fill{servers: 1, clients: 1, options: []string{"--pages", "100", "--rounds", "4"}, settings: []string{"SHMEM_PROVIDER=tcp"},
				apart: apart, others: [][]string{{filler(t, "liar"), "vanish"}, {filler(t, "liar"), "announce"}}}
			results := f.run(t)
			filled(t, f, results)
			for i, r := range results[2:] {
				if r.status != 128+9 {
					t.Errorf("it was not killed: %v", r)
				}
				if line := fmt.Sprintf("PE 0: client PE %d is lost; the others are served", 2+i); strings.Count(results[0].stderr, line) != 1 {
					t.Errorf("not once: %s\n%v", line, results[0])
				}
			}
		})
	}
}

// TestPagedFillVanishTogether has one command start a client that is killed and two that are not.
// These have joined by a unique ID, and their launcher leaves them alone.
func TestPagedFillVanishTogether(t *testing.T) {
	program, liar, id := filler(t, "pagedfill"), filler(t, "liar"), filepath.Join(t.TempDir(), "id")
	settings := []string{"SHMEM_ON_FAILURE=return", "SHMEM_PROVIDER=tcp"}
	options := []string{"--id", id, "--clients", "3", "--pages", "100", "--rounds", "4"}
	client := `if [ $SHMEM_LAUNCHER_PE = 1 ]; then exec "$0" vanish client "${@:2}"; else exec "$1" client "${@:2}"; fi`
	var server, clients result
	var wg sync.WaitGroup
	wg.Go(func() {
		server = shmemrun(t, append(settings[:2:2], "SHMEM_HOST_ID=servers"), append([]string{"-n", "1", program, "serve"}, options...)...)
	})
	wg.Go(func() {
		clients = shmemrun(t, append(settings[:2:2], "SHMEM_HOST_ID=clients"),
			append([]string{"-n", "3", "bash", "-c", client, liar, program}, options...)...)
	})
	wg.Wait()
	if server.status != 0 || strings.Count(server.stderr, "PE 0: client PE 2 is lost; the others are served") != 1 {
		t.Errorf("server: %v", server)
	}
	if n := len(verifiedFill.FindAllString(clients.stdout, -1)); n != 2 || clients.status != 128+9 {
		t.Errorf("%d clients report, want 2, and status %d\n%v", n, 128+9, clients)
	}
	if !strings.Contains(clients.stderr, "; the others go on (SHMEM_ON_FAILURE=return)") {
		t.Errorf("shmemrun does not say that the others go on\n%v", clients)
	}
}

// TestPagedFillRefuses passes wrong arguments and settings.
func TestPagedFillRefuses(t *testing.T) {
	program, id := filler(t, "pagedfill"), filepath.Join(t.TempDir(), "id")
	taken := write(t, "taken", []byte("another job's"))
	safe := "SHMEM_ON_FAILURE=return"
	for _, c := range []struct {
		setting string
		args    []string
		status  int
		message string
	}{
		{safe, nil, 2, "parse role : neither serve nor client (--help shows the usage)"},
		{safe, []string{"serve"}, 2, "parse --id : no file for the unique ID"},
		{safe, []string{"serve", "--id", id, "--pages", "0"}, 2, "parse --pages 0: not a number from 1 to 1048576"},
		{safe, []string{"serve", "--id", id, "--pages", "1k"}, 2, "parse --pages 1k: not a number"},
		{safe, []string{"serve", "--id", id, "--page-bytes", "12"}, 2, "parse --page-bytes 12: not a multiple of 8"},
		{safe, []string{"serve", "--id", id, "--sideways"}, 2, "parse option --sideways: unknown"},
		{safe, []string{"serve", "--id", id, "--servers", "2"}, 1, "start 1 PEs: --servers has another number"},
		{safe, []string{"client", "--id", id, "--first", "1"}, 1, "start 1 PEs: --clients has fewer"},
		{safe, []string{"client", "--id", taken}, 1, "read the unique ID from " + taken + ": it is not one"},
		{safe, []string{"serve", "--id", taken}, 1, "write the unique ID to " + taken + ": File exists (give the name of a new file"},
		{"SHMEM_ON_FAILURE=abort", []string{"serve", "--id", id}, 1, "(set SHMEM_ON_FAILURE=return for all commands)"},
	} {
		r := shmemrun(t, []string{c.setting}, append([]string{"-n", "1", program}, c.args...)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.message) {
			t.Errorf("%v: want status %d and %q\n%v", c.args, c.status, c.message, r)
		}
	}
	r := shmemrun(t, []string{safe}, "-n", "1", "env", "-u", "SHMEM_LAUNCHER_PE", program, "serve", "--id", id)
	if r.status != 1 || !strings.Contains(r.stderr, "no launcher gave it a number (start it by shmemrun)") {
		t.Errorf("without a launcher: %v", r)
	}
}

// TestPagedFillRatio compares the figures of the program: those with requests come near to those
// without. The bound is far below the usual 0.95, because the machine may be busy.
func TestPagedFillRatio(t *testing.T) {
	if !need.Full() {
		t.Skip("measures for a while (make test-full)")
	}
	f := fill{servers: 1, clients: 1, settings: []string{"SHMEM_PROVIDER=tcp"}, apart: true, options: []string{"--measure", "21"}}
	results := f.run(t)
	filled(t, f, results)
	m := regexp.MustCompile(`paged fill [\d.]+ GB/s; without requests [\d.]+ GB/s, ratio ([\d.]+); ` +
		`the writes alone [\d.]+ GB/s, ratio ([\d.]+) \(medians of 21\)`).FindStringSubmatch(results[1].stdout)
	if m == nil {
		t.Fatal(results[1])
	}
	t.Log(m[0])
	if ratio, err := strconv.ParseFloat(m[1], 64); err != nil || ratio < 0.7 {
		t.Error(m[0])
	}
}
