package device

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
)

// splitSource copies to all PEs as the blocks of a kernel do, and counts how often each 16 bytes of
// each PE are copied.
const splitSource = `#include <split.h>
#include <stdio.h>

static unsigned copied[8][300];

static int copy(uint32_t others, uint32_t blocks, uint64_t n)
{
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t k = b; k < shmemi_part_count(others, blocks); k += blocks) {
            struct shmemi_part p = shmemi_part_at(k, others, blocks);
            uint64_t at = shmemi_share_at(n, p.share, p.shares);
            for (; at < shmemi_share_at(n, p.share + 1, p.shares); at++)
                copied[p.after][at]++;
        }
    int wrong = 0;
    for (uint32_t pe = 0; pe < 8; pe++)
        for (uint64_t at = 0; at < 300; at++) {
            wrong += copied[pe][at] != (pe > 0 && pe <= others && at < n);
            copied[pe][at] = 0;
        }
    return wrong;
}

int main(void)
{
    for (uint32_t others = 1; others < 8; others++)
        for (uint32_t blocks = 1; blocks < 24; blocks++)
            for (uint64_t n = 0; n < 300; n += n < 40 ? 1 : 37)
                if (copy(others, blocks, n) != 0)
                    printf("%llu bytes to %u PEs by %u blocks: some are copied twice or not at all\n",
                           (unsigned long long)n, others, blocks);
    return 0;
}
`

// TestSplit: the blocks of a kernel copy each byte to each PE once.
func TestSplit(t *testing.T) {
	program := filepath.Join(t.TempDir(), "split")
	cmd := exec.Command(cc.C(), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I../../device", "-I../../device/kernels",
		"-I../../abi", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(splitSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%.2000s", err, out)
	}
}
