// Package rma tests libshmem_rma.so, NCCL's plugin, without NCCL: the layouts that both agree on,
// and a program that plays NCCL's calls.
package rma

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

var operations = flag.Int("operations", 800, "operations of all ranks in each run of the harness")

// names are our names of NCCL's structs and members, where they differ.
var names = map[string]string{
	"ncclNetProperties_v12_t": "nccl_properties", "ncclGinConfig_v13_t": "nccl_config_v13", "ncclRmaProperties_v16_t": "nccl_rma_properties",
	"getRmaProperties": "get_rma_properties", "getProperties": "get_properties", "createContext": "create_context",
	"regMrSym": "reg", "regMrSymDmaBuf": "reg_dma_buf", "deregMrSym": "dereg", "destroyContext": "destroy_context",
	"closeColl": "close_coll", "closeListen": "close_listen", "iput": "put", "iputSignal": "put_signal", "iget": "get",
	"iflush": "flush", "ginProgress": "progress", "rmaProgress": "progress", "queryLastError": "last_error",
	"nSignals": "signals", "nCounters": "counters", "nContexts": "contexts", "queueDepth": "depth", "trafficClass": "traffic_class",
	"rankStride": "rank_stride", "flushesAllPutsOnAnySignal": "flushes_all_puts_on_any_signal",
	"pciPath": "pci_path", "ptrSupport": "ptr_support", "regIsGlobal": "reg_is_global", "forceFlush": "force_flush",
	"maxComms": "max_comms", "maxRecvs": "max_recvs", "netDeviceType": "device_type", "netDeviceVersion": "device_version",
	"vProps.ndevs": "devices.count", "vProps.devs": "devices.numbers", "maxP2pBytes": "max_p2p_bytes", "maxCollBytes": "max_coll_bytes",
	"maxMultiRequestSize": "max_multi_request_size", "railId": "rail", "planeId": "plane",
}

// ours returns our name of a struct or a member.
func ours(name string) string {
	if own := names[name]; own != "" {
		return own
	}
	name = strings.TrimSuffix(name, "_t")
	for _, of := range []string{"v15", "v16"} { // the structs of version 14
		name = strings.ReplaceAll(name, "ncclRmaConfig_"+of, "ncclRmaConfig_v14")
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "ncclRmaConfig_", "nccl_config_"), "ncclRma_", "nccl_rma_")
}

// TestLayout compiles comparisons of each member's offset, size and type with those of NCCL.
func TestLayout(t *testing.T) {
	table, err := os.ReadFile("testdata/layout.tsv")
	if err != nil {
		t.Fatal(err)
	}
	code := []string{
		`#include "nccl.h"`, "typedef nccl_result ncclResult_t;", "typedef nccl_logger ncclDebugLogger_t;", "typedef void ncclNetDeviceHandle_v11_t;",
		"#define SAME(type, member, offset, size) _Static_assert(offsetof(type, member) == offset && sizeof(((type *)0)->member) == size, #type \" \" #member);",
		"#define TYPE(type, member, is) _Static_assert(__builtin_types_compatible_p(__typeof__(((type *)0)->member), __typeof__(is)), #type \" \" #member);",
	}
	rows := 0
	seen := map[string]bool{}
	var checks []string
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		of, member := "struct "+ours(f[0]), ours(f[1])
		if !seen[f[0]] {
			seen[f[0]] = true
			code = append(code, fmt.Sprintf("typedef %s %s;", of, f[0]))
		}
		rows++
		if f[1] == "(size)" {
			checks = append(checks, fmt.Sprintf("_Static_assert(sizeof(%s) == %s, \"%s\");", of, f[3], f[0]))
			continue
		}
		checks = append(checks, fmt.Sprintf("SAME(%s, %s, %s, %s)", of, member, f[2], f[3]))
		if strings.Contains(f[4], "(*)") {
			checks = append(checks, fmt.Sprintf("TYPE(%s, %s, %s)", of, member, f[4]))
		}
	}
	if rows < 120 {
		t.Fatalf("%d rows", rows)
	}
	source := filepath.Join(t.TempDir(), "layout.c")
	code = append(append(code, checks...), "int main(void) { return 0; }", "")
	if err := os.WriteFile(source, []byte(strings.Join(code, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cc.Source(t, filepath.Join(t.TempDir(), "layout"), source, "-I../../capi/rma")
}

// TestHarness plays NCCL's calls with each version of its interface: ranks in threads and in
// processes, in main memory and in GPU memory, and with a rank that is killed.
func TestHarness(t *testing.T) {
	h := newHarness(t)
	all := []run{
		{"16", "threads", "4", false},
		{"15", "threads", "2", true},
		{"14", "processes", "3", true},
		{"13", "processes", "2", false},
		{"13", "killed", "3", true},
		// In make test-full:
		{"16", "processes", "3", true},
		{"15", "processes", "2", false},
		{"14", "killed", "3", false},
		{"13", "processes", "4", false},
	}
	if !need.Full() {
		all = all[:5]
	}
	for _, c := range all {
		t.Run(c.name(), func(t *testing.T) { h.play(t, c, "SHMEM_PROVIDER=tcp") })
	}
}

// TestChaos plays the same calls on networks that delay and reorder, by seeds.
func TestChaos(t *testing.T) {
	h := newHarness(t)
	all := []run{{"15", "processes", "2", true}, {"16", "threads", "3", false}, {"13", "threads", "2", false}}
	if !need.Full() {
		all = all[:1]
	}
	for seed, c := range all {
		t.Run(c.name(), func(t *testing.T) { h.play(t, c, "SHMEM_PROVIDER=tcp", fmt.Sprintf("SHMEM_CHAOS=%d", seed+1)) })
	}
}

// TestNetworks plays the same calls on networks that this machine does not have. Their NICs reach
// GPU memory: by dma-bufs, or by its address where the provider takes none.
func TestNetworks(t *testing.T) {
	h, library := newHarness(t), stub.Build(t)
	for _, n := range stub.Networks(need.Full()) {
		path := "dma-buf"
		if n.Provider == "cxi" {
			path = "peer memory"
		}
		for _, c := range []run{{"16", "processes", "2", true}, {"14", "processes", "2", false}} {
			t.Run(n.Name+"-"+c.name(), func(t *testing.T) {
				said := h.play(t, c, n.Env(library)...)
				if reached := strings.Count(said, "NICs reach GPU memory by "+path); c.gpu && reached != 2 {
					t.Errorf("the NICs of %d ranks reach GPU memory by %s:\n%s", reached, path, said)
				}
			})
		}
	}
}

// run is a run of the harness.
type run struct {
	version, by, ranks string
	gpu                bool
}

// name returns the name of a run.
func (c run) name() string {
	if c.gpu {
		return fmt.Sprintf("v%s-%s-gpu", c.version, c.by)
	}
	return fmt.Sprintf("v%s-%s", c.version, c.by)
}

// harness is the program that plays NCCL's calls, the library that it plays them on, and the folder
// of the fake driver.
type harness struct{ program, library, driver string }

func newHarness(t *testing.T) *harness {
	t.Helper()
	var of []byte
	for _, name := range []string{"testdata/harness.c", "testdata/load.h", "testdata/plan.h", "../../capi/rma/nccl.h"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, text...)
	}
	dir := need.Made(t, "harness", of, func(dir string) {
		cc.Source(t, filepath.Join(dir, "harness"), "testdata/harness.c", "-I../../capi/rma", "-ldl")
	})
	return &harness{filepath.Join(dir, "harness"), filepath.Join(need.Build(t), "lib", "libshmem_rma.so"), cudatest.Build(t)}
}

// play runs the harness, which has to find no error.
func (h *harness) play(t *testing.T, c run, env ...string) (said string) {
	t.Helper()
	count := fmt.Sprint(*operations)
	if c.by == "killed" {
		count = "1000000" // more than are made before
	}
	cmd := exec.Command(h.program, h.library, c.version, c.by, c.ranks, count, "1")
	cmd.Env = append(os.Environ(), env...)
	if c.gpu {
		cmd.Args = append(cmd.Args, "gpu")
		cmd.Env = append(cmd.Env, "FAKE_CUDA=works=1", "LD_LIBRARY_PATH="+h.driver)
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), ": 0 errors, ") {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}
