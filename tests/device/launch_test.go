package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"libshmem/tests/cc"
)

// TestLaunchMessages: each message of a collective launch names the function that the program has
// called, of both surfaces.
func TestLaunchMessages(t *testing.T) {
	dir := t.TempDir()
	apis, err := os.ReadFile("../../include/nvshmem/device/nvshmemx_collective_launch_apis.h")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"apis.h":            string(apis),
		"nvshmem_defines.h": "#include \"shmem/launch.h\"\n", // without the headers that only nvcc compiles
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "launch")
	cc.Run(t, cc.CXX(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"+dir, "-Itestdata/launch", "-I../../device", "testdata/launch/launch.cc", "-o", program)
	out, err := exec.Command(program).CombinedOutput()
	const (
		host    = "shmem: shmemx_collective_launch"
		nv      = "shmem: nvshmemx_collective_launch"
		query   = "ask how many blocks fit: refused (see the cause)\n"
		failed  = "launch: refused (see the cause)\n"
		shared  = ": a block with 16 bytes of shared memory does not run (launch with less)\n"
		tooMany = ": 2 blocks of 64 threads do not run at the same time, the GPU holds 1 of them (launch fewer or smaller blocks)\n"
	)
	want := host + "_query_gridsize: " + query + host + ": " + query + nv + "_query_gridsize: " + query + nv + ": " + query + nv + "_attr: " + query +
		host + ": a block of 1024 threads does not run: the kernel takes 128 registers a thread, with which a block has at most 512 (compile it with __launch_bounds__(1024), or launch smaller blocks)\n" +
		nv + shared +
		nv + "_attr: the GPU holds 0 of these blocks at the same time (launch fewer or smaller ones, with at most 32 attributes)\n" +
		host + ": " + failed + nv + ": " + failed + nv + "_attr: " + failed +
		host + tooMany + nv + tooMany + nv + "_attr: attr is NULL (pass the launch attributes)\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
