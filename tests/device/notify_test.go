package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"libshmem/capi/spec"
	"libshmem/queue"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestNotifications runs puts with notifications of kernels as host threads, with the state that
// the library writes for kernels of a GPU: a counter is then a word in the heap, which the kernels
// add to, and one in main memory, which the network and the host add to. PEs are reached directly,
// through the ring, by copies within a host, and between hosts.
func TestNotifications(t *testing.T) {
	build := need.Build(t)
	lib, fake := filepath.Join(build, "lib"), cudatest.Build(t)
	program := emulate(t, build, "notify")
	for _, c := range []struct {
		name string
		left bool // to make test-full
		way  []string
	}{
		{"direct", false, []string{"-n", "3"}},
		{"addresses", false, []string{"-n", "2", "-x", "FAKE_CUDA=works=1 attribute91=0"}}, // the GPU has its own for main memory
		{"pinned", false, []string{"-n", "2", "-x", "SHMEM_HEAP=pinned"}},
		{"ring", true, []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1"}},
		{"copy", false, []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_NET=copy"}},
		{"hosts", false, []string{"-n", "3", "--hosts", "2"}},
		{"full", true, []string{"-n", "2", "--hosts", "2", "-x", "SHMEM_CHECKS=full"}},
	} {
		if c.left && need.Left("notifications") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			cmd := job(build, append(c.way, "--timeout", "120", program)...)
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "SHMEM_PROVIDER=tcp", "FAKE_CUDA=works=1", "EMULATED_GPU=1", "LD_LIBRARY_PATH="+lib+":"+fake)
			out, err := cmd.CombinedOutput()
			if err != nil || !passed(out, int(c.way[1][0]-'0')) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestNotificationsRefused: each call that makes no sense is reported by its name, before anything
// is done.
func TestNotificationsRefused(t *testing.T) {
	build := need.Build(t)
	program := emulate(t, build, "notify")
	put := spec.CallNumber("shmemx_putmem_notify")
	for i, c := range []struct {
		call        uint32
		fault       int
		address, of string
	}{
		{put, queue.FaultCounter, "0x1000", "4096"},
		{spec.CallNumber("shmemx_putmem_notify_nbi_block"), queue.FaultCounter, "0xffffffff", "4096"},
		{put, queue.FaultPE, "0x[0-9a-f]+", "0"},
		{spec.CallNumber("shmemx_notify_wait"), queue.FaultCounter, "0x1000", "4096"},
		{spec.CallNumber("shmemx_notify_wait"), queue.FaultCount, "0", "9223372036854775808"},
		{spec.CallNumber("shmemx_notify_test"), queue.FaultCount, "0", "9223372036854775808"},
		{spec.CallNumber("shmemx_notify_fetch"), queue.FaultCounter, "0x1001", "4096"},
		{spec.CallNumber("shmemx_notify_reset"), queue.FaultCount, "0", "9223372036854775809"},
		{spec.CallNumber("shmemx_notify_reset"), queue.FaultCounter, "0xfffffffb", "4096"},
	} {
		cmd := job(build, "-n", "2", "--timeout", "60", program, "refused", strconv.Itoa(i))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf(`fault %d in call %#x: PE \d, address %s, length %s`, c.fault, c.call, c.address, c.of)
		if err == nil || !regexp.MustCompile(want+`\n`).Match(out) {
			t.Errorf("call %d: %v, without %q\n%s", i, err, want, out)
		}
	}
}
