package failure

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// whole is for make test-full.
var whole = flag.Bool("whole", false, "send the operations of 1,000 endpoints to a job, too, and lose PEs on all NICs of the stub")

// small makes ofi_rxm allocate memory for 64 operations of an endpoint, and not for thousands.
var small = []string{"FI_OFI_RXM_RX_SIZE=64", "FI_OFI_RXM_TX_SIZE=64", "FI_OFI_RXM_MSG_RX_SIZE=64", "FI_OFI_RXM_MSG_TX_SIZE=64"}

// kinds is how many kinds of operation stranger.c has. One endpoint begins each of its rounds
// with another.
const kinds = 14

// TestStrangerEndpoints sends every kind of operation from endpoints outside a job to the endpoints
// of its PEs: from before shmem_init, when the ports refuse connections, until after
// shmem_finalize. The PEs' data stays correct, the job ends as without strangers, and each PE
// counts the operations that it has refused.
func TestStrangerEndpoints(t *testing.T) {
	shmemrun, neighbour := compile(t, "neighbour")
	stranger := filepath.Join(t.TempDir(), "stranger")
	cc.Source(t, stranger, "testdata/stranger.c", "-lfabric")
	for _, c := range []struct {
		provider             string // as in SHMEM_PROVIDER
		processes, endpoints int
		rounds               int // that begin and end while the PEs are at work; 0: as many as in half a minute
	}{
		{"tcp", 1, 1, 4},
		{"tcp", 4, 8, 1},
		{"net", 1, 1, 4},
		{"net", 4, 8, 1},
		{"tcp;ofi_rxm", 1, 1, 4},
		{"tcp;ofi_rxm", 4, 8, 1},
		{"tcp", 1, 1000, 0},
		{"net", 1, 1000, 0},
		// ofi_rxm closes the endpoints of a process in a time that grows with the square of their
		// number.
		{"tcp;ofi_rxm", 8, 125, 0},
	} {
		if c.rounds == 0 && !*whole || c.provider == "net" && !datagrams("net") {
			continue
		}
		if c.provider != "tcp" && need.Left("strangers") {
			continue
		}
		t.Run(fmt.Sprintf("%s, %d", c.provider, c.processes*c.endpoints), func(t *testing.T) {
			dir := t.TempDir()
			begin, end, over := filepath.Join(dir, "begin"), filepath.Join(dir, "end"), filepath.Join(dir, "over")
			first := twoPorts(t)
			// A port of its own for each PE, since libfabric draws from a range and gives up where
			// two PEs draw the same.
			pes := start(t, []string{"SHMEM_PROVIDER=" + c.provider, "SHMEM_NIC_LIST=lo"}, shmemrun, "-n", "2", "--hosts", "2",
				"sh", "-c", fmt.Sprintf(`port=$((%d + SHMEM_LAUNCHER_PE))
for name in NET TCP; do export FI_${name}_PORT_LOW_RANGE=$port FI_${name}_PORT_HIGH_RANGE=$port; done
exec "$0" "$@"`, first), neighbour, begin, end)
			var strangers []*job
			for range c.processes {
				strangers = append(strangers, start(t, small, stranger, inner(t, c.provider), strconv.Itoa(c.endpoints), over,
					"127.0.0.1", strconv.Itoa(first), strconv.Itoa(first+1)))
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(pes.output())
				}
			})
			for _, s := range strangers {
				s.says("the endpoints are open")
			}
			create(t, begin)
			pes.says("the PEs are at work")
			for _, s := range strangers {
				if c.rounds == 0 {
					time.Sleep(30 * time.Second)
					break
				}
				s.says(fmt.Sprintf(`round %d\n`, strings.Count(s.output(), "round")+1+c.rounds))
			}
			// On a busy machine a few rounds may post little, and only operations that the provider
			// refuses itself.
			if c.rounds > 0 && c.processes*c.endpoints > kinds && c.provider != "tcp" {
				strangers[0].says("each kind is posted")
			}
			for pe := range 2 {
				pes.says(fmt.Sprintf("PE %d has refused something", pe))
			}
			create(t, end)
			out := pes.wait(0)
			create(t, over)
			if n := passed(t, out); n != 2 {
				t.Errorf("%d of 2 PEs came to the end", n)
			}
			if n := len(regexp.MustCompile(`PE \d: [1-9]\d* refused`).FindAllString(out, -1)); n != 2 {
				t.Errorf("%d of 2 PEs counted what they refused", n)
			}
			operations(t, c.provider, strangers)
		})
	}
}

// operations logs how many of each kind were posted, and checks which kinds a provider lacks.
func operations(t *testing.T, provider string, strangers []*job) {
	t.Helper()
	counts, unsupported := map[string]int{}, map[string]bool{}
	for _, s := range strangers {
		out := s.wait(0)
		for _, m := range regexp.MustCompile(`(?m)^([\w-]+): (\d+) posted`).FindAllStringSubmatch(out, -1) {
			n, _ := strconv.Atoi(m[2])
			counts[m[1]] += n
		}
		for _, m := range regexp.MustCompile(`(?m)^([\w-]+): unsupported$`).FindAllStringSubmatch(out, -1) {
			unsupported[m[1]] = true
		}
	}
	all := maps.Clone(unsupported)
	for kind := range counts {
		all[kind] = true
	}
	if len(all) != kinds {
		t.Errorf("%d kinds of operation, want %d: %v", len(all), kinds, counts)
	}
	// The library makes the connections of tcp, and a stranger gets none.
	for kind, n := range counts {
		if provider == "tcp" && n > 0 {
			t.Errorf("strangers have posted %d operations of kind %s", n, kind)
		}
	}
	for kind := range unsupported {
		if provider != "tcp" && provider != "net" || kind != "atomic" && kind != "fetch" && kind != "compare" {
			t.Errorf("provider %s has no %s", provider, kind)
		}
	}
	t.Log(counts)
}

// inner returns the provider with which strangers talk to a job over tcp: up to libfabric 1.17 its
// datagrams are net's.
func inner(t *testing.T, provider string) string {
	t.Helper()
	if provider == "tcp" && datagrams("net") {
		return "net"
	}
	return provider
}

// datagrams reports whether a provider has reliable datagrams.
func datagrams(provider string) bool {
	return exec.Command("fi_info", "-p", provider, "-t", "FI_EP_RDM").Run() == nil
}

// twoPorts finds a free port with a free one behind it, outside the range that the system assigns
// to connections.
func twoPorts(t *testing.T) int {
	t.Helper()
	for tries := range 100 {
		first := 20000 + (os.Getpid()*16+int(time.Now().UnixNano()/1000)+tries*2)%10000
		a, err := net.Listen("tcp4", fmt.Sprintf(":%d", first))
		if err != nil {
			continue
		}
		b, err := net.Listen("tcp4", fmt.Sprintf(":%d", first+1))
		a.Close()
		if err != nil {
			continue
		}
		b.Close()
		return first
	}
	t.Fatal("find two free ports: all of 100 pairs are in use")
	return 0
}

func create(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
