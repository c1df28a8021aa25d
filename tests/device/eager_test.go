package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"libshmem/capi/spec"
	"libshmem/fabric/ofi/stub"
	"libshmem/queue"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestEager passes eager tokens between kernels as host threads, with the state that the library
// writes for kernels of a GPU, and between those and the host. Slots are in the memory of the fake
// GPU or in main memory; PEs are reached directly, through the ring, by copies within a host, and
// between hosts.
func TestEager(t *testing.T) {
	build := need.Build(t)
	lib, fake := filepath.Join(build, "lib"), cudatest.Build(t)
	program := emulate(t, build, "eager")
	for _, c := range []struct {
		name string
		left bool // to make test-full
		way  []string
	}{
		{"direct", true, []string{"-n", "2"}},
		{"pinned", true, []string{"-n", "2", "-x", "SHMEM_HEAP=pinned"}},
		{"ring", true, []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1"}},
		{"copy", true, []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_NET=copy"}},
		{"hosts", false, []string{"-n", "3", "--hosts", "2"}},
	} {
		if c.left && need.Left("eager") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			args := append(c.way, "--timeout", "200", program)
			if need.Left("eager") {
				args = append(args, "counted")
			}
			cmd := job(build, args...)
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "SHMEM_PROVIDER=tcp", "FAKE_CUDA=works=1", "EMULATED_GPU=1", "LD_LIBRARY_PATH="+lib+":"+fake)
			out, err := cmd.CombinedOutput()
			if err != nil || !passed(out, int(c.way[1][0]-'0')) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestEagerNIC: tokens of kernels go from the memory of one GPU to that of another as one write, in
// the tiles that the NIC keeps on its way to a GPU that is known to show them in order. Elsewhere
// they are tokens with notifications. Where the user is wrong about the NIC, the program finds old
// bytes.
func TestEagerNIC(t *testing.T) {
	build := need.Build(t)
	program, library, driver := emulate(t, build, "eager"), stub.Build(t), cudatest.Build(t)
	for _, c := range []struct {
		name, nic, gpu string
		left           bool // to make test-full
		env            []string
		args           []string
		wrong          bool
	}{
		{name: "kept", nic: "inorder=1", gpu: hopper, args: []string{"kept", "128"}},
		{name: "scopes", nic: "inorder=1", gpu: hopper, args: []string{"kept-all", "128"}, left: true},
		{name: "node", nic: "inorder=1", gpu: hopper, args: []string{"kept", "128"}, env: []string{"SHMEM_DISABLE_P2P=1"}, left: true},
		{name: "vouched", nic: "without=R12b", gpu: hopper, args: []string{"kept", "4096"}, env: []string{"SHMEM_ORDERED_BYTES=4096"}, left: true},
		{name: "wrong", gpu: hopper, args: []string{"kept", "4096"}, env: []string{"SHMEM_ORDERED_BYTES=4096"}, wrong: true, left: true},
		{name: "wrong-128", gpu: hopper, args: []string{"kept", "128"}, env: []string{"SHMEM_ORDERED_BYTES=128"}, wrong: true, left: true},
		{name: "part", nic: "inorder=1 fail_at=3", gpu: hopper, args: []string{"kept", "128", "0"}, left: true},
		{name: "ampere", nic: "inorder=1", gpu: "attribute75=8 attribute118=200", args: []string{"counted"}, left: true},
		{name: "unordered", nic: "inorder=1", gpu: "attribute75=9 attribute118=0", args: []string{"counted"}, left: true},
		{name: "staged", nic: "inorder=1", gpu: hopper, args: []string{"counted"}, env: []string{"SHMEM_GPU_NET=stage"}, left: true},
		{name: "nics", nic: "inorder=1 nics=8", gpu: hopper, args: []string{"counted"}, left: true},
	} {
		if c.left && need.Left("eager") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			stub.Set(t, c.nic)
			way := []string{"-n", "2", "--timeout", "200"}
			if c.name != "node" {
				way = append(way, "--hosts", "2")
			}
			cmd := job(build, append(append(way, program), c.args...)...)
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "SHMEM_PROVIDER="+stub.Provider, "SHMEM_LIBFABRIC="+library,
				"FAKE_CUDA=works=1 "+c.gpu, "EMULATED_GPU=1", "LD_LIBRARY_PATH="+filepath.Join(build, "lib")+":"+driver)
			cmd.Env = append(cmd.Env, c.env...)
			out, err := cmd.CombinedOutput()
			if c.wrong {
				if err == nil || !oldBytes.Match(out) {
					t.Errorf("%v, want bytes that are wrong\n%s", err, out)
				}
			} else if err != nil || !passed(out, 2) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

const hopper = "attribute75=9 attribute118=200"

var oldBytes = regexp.MustCompile(`: \d+ wrong`)

// TestEagerRefused: a kernel reports tokens with notifications that are out of turn or of another
// size, tokens and tiles of sizes that do not exist, and a slot without a counter.
func TestEagerRefused(t *testing.T) {
	build := need.Build(t)
	program := emulate(t, build, "eager")
	for i, c := range []struct {
		call        string
		fault       int
		address, of int
	}{
		{"shmemx_eager_wait", queue.FaultEpoch, 2, 1},
		{"shmemx_eager_ready", queue.FaultEpoch, 1, 2},
		{"shmemx_eager_wait", queue.FaultEpoch, 2, 1},
		{"shmemx_eager_recv", queue.FaultToken, 92, 100},
		{"shmemx_eager_size", queue.FaultBytes, 0, 0},
		{"shmemx_eager_size", queue.FaultBytes, 0, 1<<30 + 1},
		{"shmemx_eager_size", queue.FaultNoTile, 0, 12},
		{"shmemx_eager_send", queue.FaultCounter, 4096, 4096},
	} {
		cmd := job(build, "-n", "1", "--timeout", "60", program, "refused", strconv.Itoa(i))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf(`fault %d in call %#x: PE \d, address (?:0x)?%x, length %d\n`, c.fault, spec.CallNumber(c.call), c.address, c.of)
		if err == nil || !regexp.MustCompile(want).Match(out) {
			t.Errorf("case %d: %v, without %q\n%s", i, err, want, out)
		}
	}
}
