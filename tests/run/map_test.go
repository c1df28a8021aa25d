package run

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

var rewriteMaps = flag.Bool("rewrite", false, "write the golden files of TestMap anew")

var (
	mapText = regexp.MustCompile(`(?m)^shmem: map of (?:.*\n)+?PEs +host.*\n(?:[-,\d]+ +\d+ .*\n)+`)
	mapRow  = regexp.MustCompile(`^ +\d+  ([.mgcn-](?: [.mgcn-])*)$`)
	wayLine = regexp.MustCompile(`(?m)^PE (\d+) sent ([n-]+)$`)
)

// plain returns a map without the parts that differ from machine to machine.
func plain(t *testing.T, text string, nics bool) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// Whether notifications come with their bytes depends on it, too.
	network := regexp.MustCompile(`(?:tcp by )?\S+ on ([^\s,]+(?:,[^\s,]+)*)(, eager in tiles of \d+)?(?:, eager .*)?$`)
	var lines []string
	ends := false
	for _, line := range strings.Split(text, "\n") {
		if ends = ends || strings.HasPrefix(line, "PEs  "); ends {
			line = strings.Replace(line, " "+name+" ", " HOST ", 1)
			line = regexp.MustCompile(`  +`).ReplaceAllString(line, "  ")
			if nics {
				line = network.ReplaceAllString(line, "net on $1$2")
			} else {
				line = network.ReplaceAllString(line, "net on NIC$2")
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// hostWays returns the letters of calls of the host, by PE.
func hostWays(text string) []string {
	_, text, _ = strings.Cut(text, "calls of the host:\n")
	var all []string
	for line := range strings.Lines(text) {
		if row := mapRow.FindStringSubmatch(strings.TrimRight(line, "\n")); row != nil {
			all = append(all, strings.ReplaceAll(row[1], " ", ""))
		} else if strings.HasPrefix(line, "kernels:") {
			break
		}
	}
	return all
}

// TestMap checks that puts take the routes that jobs print between their PEs.
func TestMap(t *testing.T) {
	build := need.Build(t)
	program := cc.Program(t, build, "testdata/ways.c")
	driver, library := cudatest.Build(t), stub.Build(t)
	const (
		asked   = "*) export SHMEM_LOG_LEVEL=debug;;"
		devices = "*) export SHMEM_LOG_LEVEL=debug SHMEM_HEAP=device;;"
		ways    = "0) export SHMEM_GPU_NET=dmabuf;; 1) export SHMEM_GPU_NET=peermem;; *) export SHMEM_GPU_NET=stage;;"
		mixed   = "0) export SHMEM_HEAP=host;; 1) export SHMEM_HEAP=pinned;; *) export SHMEM_HEAP=device SHMEM_LOG_LEVEL=debug;;"
	)
	for _, c := range []struct {
		name, args string
		each       string // shell script for each number of a PE
		gpu        string // settings of the fake driver
		env        []string
		golden     string // "": the name
	}{
		{name: "alone", args: "-n 1", each: asked},
		{name: "node", args: "-n 4", each: asked},
		{name: "block", args: "-n 4 --hosts 3,1", each: asked},
		{name: "cyclic", args: "-n 4 --hosts 3,1 --map cyclic", each: asked},
		// The settings of one PE are enough.
		{name: "asked-by-one", args: "-n 4 --hosts 3,1 --map cyclic", each: "2) export SHMEM_DEBUG=1;;", golden: "cyclic"},
		{name: "asked-by-none", args: "-n 2 --hosts 2", each: "*) export SHMEM_LOG_LEVEL=info;;", golden: "none"},
		{name: "another-part", args: "-n 2 --hosts 2", each: "*) export SHMEM_LOG_LEVEL=trace SHMEM_LOG_SUBSYS=heap;;", golden: "none"},
		{name: "links", args: "-n 3 --hosts 2,1 --host-netns --links 2", each: asked},
		{name: "gpus", args: "-n 4 --hosts 3,1", each: devices, gpu: "works=1 devices=2"},
		{name: "gpus-apart", args: "-n 4", each: devices, gpu: "works=1 devices=2 peers=0"},
		{name: "no-p2p", args: "-n 3 --hosts 2,1", each: devices, gpu: "works=1", env: []string{"SHMEM_DISABLE_P2P=1"}},
		{name: "copy", args: "-n 3 --hosts 2,1", each: devices, gpu: "works=1", env: []string{"SHMEM_DISABLE_P2P=1", "SHMEM_GPU_NET=copy"}},
		{name: "mixed", args: "-n 4", each: mixed, gpu: "works=1"},
		// Each heap says how the network reaches it.
		{name: "nics", args: "-n 3 --hosts 3", each: ways, gpu: "works=1", env: []string{
			"SHMEM_LOG_LEVEL=debug", "SHMEM_HEAP=device", "SHMEM_PROVIDER=" + stub.Provider, "SHMEM_LIBFABRIC=" + library,
		}},
		{name: "nics-in-order", args: "-n 3 --hosts 3", each: ways, gpu: "works=1 attribute75=9 attribute118=200", env: []string{
			"SHMEM_LOG_LEVEL=debug", "SHMEM_HEAP=device", "SHMEM_PROVIDER=" + stub.Provider, "SHMEM_LIBFABRIC=" + library, "SHMEM_ORDERED_BYTES=128",
		}},
		{name: "mixed-pcie", args: "-n 4", each: mixed, gpu: "works=1 attribute86=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nics := strings.Contains(c.args, "--host-netns")
			if nics {
				need.Namespaces(t)
			}
			args := append(strings.Fields(c.args), "--timeout", "100", "sh", "-c", "case $SHMEM_LAUNCHER_PE in "+c.each+` esac; exec "$0"`, program)
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), args...)
			cmd.Env = append(os.Environ(), "SHMEM_PROVIDER=tcp")
			if c.gpu != "" {
				cmd.Env = append(cmd.Env, "FAKE_CUDA="+c.gpu, "LD_LIBRARY_PATH="+driver)
			}
			cmd.Env = append(cmd.Env, c.env...)
			b, err := cmd.CombinedOutput()
			out := string(b)
			if err == nil {
				err = judge(out)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, excerpt(out))
			}
			maps := mapText.FindAllString(out, -1)
			if c.golden == "none" {
				if strings.Contains(out, "map of") {
					t.Errorf("there is a map:\n%s", out)
				}
				return
			}
			if len(maps) != 1 {
				t.Fatalf("there are %d maps:\n%s", len(maps), out)
			}
			compareMap(t, c.golden, c.name, plain(t, maps[0], nics))
			ways := hostWays(maps[0])
			went := wayLine.FindAllStringSubmatch(out, -1)
			if len(went) != len(ways) {
				t.Errorf("%d PEs say what they sent, %d are in the map", len(went), len(ways))
			}
			for _, w := range went {
				pe := slices.Index([]string{"0", "1", "2", "3"}, w[1])
				if pe < 0 || pe >= len(ways) {
					t.Errorf("there is no PE %s in the map", w[1])
					continue
				}
				for to := range ways {
					if (w[2][to] == 'n') != (ways[pe][to] == 'n') {
						t.Errorf("from PE %d to %d: the map says %c, and puts say %c", pe, to, ways[pe][to], w[2][to])
					}
				}
			}
		})
	}
}

// compareMap compares a map with that of a file: one file may serve two jobs.
func compareMap(t *testing.T, golden, name, got string) {
	t.Helper()
	if golden == "" {
		golden = name
	}
	file := filepath.Join("testdata", "map-"+golden+".txt")
	if *rewriteMaps && golden == name {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (go test -rewrite writes it): %v\ngot\n%s\nwant\n%s", file, err, got, want)
	}
}
