package abi

import (
	"os/exec"
	"strings"
	"testing"
)

// TestWrongGenericArgument: the compiler names the types that a generic name takes.
func TestWrongGenericArgument(t *testing.T) {
	const rma = "has to point to one of float, double, long double, char, signed char, short, int, long, long long, " +
		"unsigned char, unsigned short, unsigned int, unsigned long, unsigned long long"
	const amo = "has to point to one of int, long, long long, unsigned int, unsigned long, unsigned long long, not const"
	for call, want := range map[string]string{
		"shmem_put(&a, &b, 1, 0)":                                 "shmem_put: dest " + rma + ", not const\"",
		"shmem_put(SHMEM_CTX_DEFAULT, &a, &b, 1, 0)":              "shmem_put: dest " + rma,
		"shmem_put((const long *)0, &v, 1, 0)":                    "shmem_put: dest " + rma,
		"shmem_put((void *)&v, &v, 1, 0)":                         "shmem_put: dest " + rma,
		"v = shmem_g(&a, 0)":                                      "shmem_g: source " + rma + "\"",
		"shmem_atomic_add(&f, 1, 0)":                              "shmem_atomic_add: dest " + amo,
		"shmem_atomic_add(SHMEM_CTX_DEFAULT, &f, 1, 0)":           "shmem_atomic_add: dest " + amo,
		"shmem_wait_until(&a, SHMEM_CMP_EQ, 1)":                   "shmem_wait_until: ivar has to point to one of int, long,",
		"shmem_sum_reduce(SHMEM_TEAM_WORLD, &a, &a, 1)":           "unsigned long long, double complex, float complex, not const\"",
		"shmem_broadcast(SHMEM_TEAM_WORLD, (void **)0, &v, 1, 0)": "shmem_broadcast: dest has to point to one of float,",
		"shmem_put(&v, &v, 1, 0)":                                 "",
		"v = shmem_g((const long *)&v, 0)":                        "",
		"shmem_put(SHMEM_CTX_DEFAULT, &v, &v, 1, 0)":              "",
	} {
		gcc := exec.CommandContext(t.Context(), "gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused", "-fsyntax-only",
			"-I../../include", "-x", "c", "-")
		gcc.Stdin = strings.NewReader("#include <shmem.h>\nvoid f(void)\n{\n    struct { int x; } a, b;\n    long v = 0;\n    float f;\n    " + call + ";\n}\n")
		out, err := gcc.CombinedOutput()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(string(out), want)) {
			t.Errorf("%s: want %q, %v:\n%s", call, want, err, out)
		}
	}
}
