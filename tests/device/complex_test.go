package device

import (
	"os"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// complexCalls are the host's calls with complex numbers of both languages.
const complexCalls = `
int calls(std::complex<double> *d, std::complex<float> *f, __complex__ float *c)
{
    d[1] = d[0] * 2.0;
    f[1] = f[0] * 2.0f;
    return shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, d, d, 1) +
           shmem_sum_reduce(SHMEM_TEAM_WORLD, d, d, 1) + shmem_sum_reduce(SHMEM_TEAM_WORLD, f, f, 1) +
           shmem_complexf_prod_reduce(SHMEM_TEAM_WORLD, c, c, 1) + shmem_prod_reduce(SHMEM_TEAM_WORLD, c, c, 1);
}
`

// TestComplex: in a file for nvcc <complex> comes behind the header, which declares std::complex, or
// before it.
func TestComplex(t *testing.T) {
	orders := []string{"#include <shmem/shmem.cuh>\n#include <complex>\n", "#include <complex>\n#include <shmem/shmem.cuh>\n"}
	if need.Left("headers") {
		orders = orders[:1]
	}
	for _, order := range orders {
		// The pass for the GPU reads host code, too. Optimising the kernels takes most of the time.
		command := []string{need.NVCC(t), "-x", "cu", "-std=c++17", "-arch=compute_75", "-ccbin", cc.C(),
			"-Werror", "all-warnings", "-Xcicc", "-O0", "-ptx", "-o", os.DevNull, "-"}
		if out, err := compile(command, order+complexCalls); err != nil {
			t.Errorf("%s%v\n%s", order, err, out)
		}
	}
}
