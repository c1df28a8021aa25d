package device

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestBulk: sm_90 and later move tokens in shared memory by bulk copies, with the fences that these
// need, in this order; earlier GPUs have none.
func TestBulk(t *testing.T) {
	want := map[string][]string{
		"send_shared": {"fence.proxy.async", "cp.async.bulk.global.shared::cta.bulk_group", "cp.async.bulk.wait_group", "fence.acq_rel.sys", "st.relaxed.sys.global.u64"},
		"recv_shared": {"ld.acquire.sys.global.u64", "fence.proxy.async", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "mbarrier.try_wait.parity.shared::cta.b64"},
	}
	for arch, has := range map[string]bool{"compute_75": false, "compute_90": true} {
		out, err := exec.Command(need.NVCC(t), "-std=c++17", "-O3", "-ccbin", cc.C(), "-I../../device", "-I../../include", "-arch="+arch, "-ptx", "-o", "-", "testdata/bulk.cu").Output()
		if err != nil {
			t.Fatalf("nvcc for %s: %v", arch, err)
		}
		functions, err := parsePTX(string(out))
		if err != nil {
			t.Fatal(err)
		}
		for name, order := range want {
			at, bulk := 0, false
			for _, i := range functions[name].body {
				bulk = bulk || slices.Contains(i.op, "bulk")
				if at < len(order) && strings.Join(i.op, ".") == order[at] {
					at++
				}
			}
			switch {
			case len(functions[name].body) == 0:
				t.Errorf("%s: there is no %s", arch, name)
			case !has && bulk:
				t.Errorf("%s: %s has bulk copies", arch, name)
			case has && at < len(order):
				t.Errorf("%s: %s has no %s after the earlier ones", arch, name, order[at])
			}
		}
	}
}
