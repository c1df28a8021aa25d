package nvshmem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/need"
)

// TestTiles runs the calls on tiles as threads of the host: on one node, where peers are reached
// directly, between hosts, where all operations go through rings and proxies, and with both.
func TestTiles(t *testing.T) {
	build, program := need.Build(t), filepath.Join(t.TempDir(), "tiles")
	lib := filepath.Join(build, "lib")
	// Tuples are those of CUDA's C++ library. The test replaces the rest of its headers.
	tuples := filepath.Join(filepath.Dir(filepath.Dir(need.NVCC(t))), "include", "cccl")
	compile(t, "g++", "-std=c++17", "-O0", "-g", "-x", "c++", "-DEMULATED", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-parameter",
		"-I../../device", "-I../../include", "-I../device/emulated", "-isystem", tuples, "../gpu/tiles.cu", "-x", "none",
		"-o", program, "-L"+lib, "-lnvshmem_host", "-lshmem", "-lpthread")
	for _, c := range []struct {
		name string
		job  []string
	}{
		{"sem12", []string{"-n", "2"}},
		{"node", []string{"-n", "2"}},
		{"hosts", []string{"-n", "2", "--hosts", "2"}},
		{"both", []string{"-n", "3", "--hosts", "2,1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(launcher(build), append(append([]string{"--timeout", "120"}, c.job...), program, c.name)...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib, "SHMEM_PROVIDER=tcp", "SHMEM_HEAP=host")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), " passed, 0 failed\n") != strings.Count(string(out), "tiles: ") || !strings.Contains(string(out), "tiles: ") {
				t.Errorf("%v\n%.4000s", err, out)
			}
		})
	}
}

// tileTop begins programs with a tile of each kind.
const tileTop = `#include <nvshmem.h>
#include <nvshmemx.h>
struct none {};
using layout = decltype(nvshmemx::make_layout(nvshmemx::make_shape(4, 4), nvshmemx::make_stride(4, ConstInt<1>{})));
using tensor = nvshmemx::Tensor<float, layout>;
using bound = nvshmemx::shape<int, int>;
`

// tileShapes returns a program that asserts the type of each function, and the types of tensors:
// facts of the newest release.
func tileShapes(t *testing.T) string {
	var b strings.Builder
	b.WriteString(tileTop)
	for _, fact := range []string{
		"(int)nvshmemx::NVLS_ONE_SHOT_PUSH_NBI == 0", "(int)nvshmemx::NVLS_ONE_SHOT_PULL_NBI == 1", "(int)nvshmemx::NVLS_TWO_SHOT_PUSH_NBI == 2",
		"(int)nvshmemx::tile_coll_algo_t::NVLS_TWO_SHOT_PULL_NBI == 3", "(int)nvshmemx::NVSHMEMI_TILE_COLL_ALGO_SENTINEL == 2147483647",
		"(int)nvshmemx::PEER_PUSH_NBI == 0", "(int)nvshmemx::PEER_PULL_NBI == 0", "(int)nvshmemx::REMOTE_PUSH_NBI == 1",
		"(int)nvshmemx::tile_algo_t::REMOTE_PULL_NBI == 1", "(int)nvshmemx::NVSHMEMI_TILE_ALGO_SENTINEL == 2147483647",
		"cuda::std::is_same<nvshmemx::shape<int, long>, cuda::std::tuple<int, long>>::value",
		"cuda::std::is_same<nvshmemx::stride<int>, cuda::std::tuple<int>>::value",
		"cuda::std::is_base_of<cuda::std::integral_constant<int, 7>, ConstInt<7>>::value && ConstInt<7>{} == 7",
		"cuda::std::is_same<tensor::value_type, float>::value && cuda::std::is_same<tensor::layout_type, layout>::value",
		"cuda::std::is_same<decltype(cuda::std::declval<tensor>().shape()), cuda::std::tuple<int, int>>::value",
		"cuda::std::is_same<decltype(cuda::std::declval<tensor>().stride()), cuda::std::tuple<int, ConstInt<1>>>::value",
		"cuda::std::is_same<decltype(nvshmemx::Tensor((float *)nullptr, cuda::std::declval<layout>())), tensor>::value",
		"sizeof(layout) == sizeof(cuda::std::tuple<cuda::std::tuple<int, int>, cuda::std::tuple<int, ConstInt<1>>>)",
	} {
		fmt.Fprintf(&b, "static_assert(%s, \"%[1]s\");\n", fact)
	}
	for i := range spec.Nvshmem.Tiles {
		tile := &spec.Nvshmem.Tiles[i]
		args := "tensor, tensor, bound, "
		params := strings.NewReplacer("src_tensor_t src", "tensor", "dst_tensor_t dst", "tensor", "tuple_t start_coord", "bound", "tuple_t boundary", "bound").Replace(tile.Params)
		if !tile.Tensors {
			args = ""
		}
		algorithm := 0
		if strings.Contains(tile.Name, "reduce") {
			algorithm = 1
		}
		for _, f := range tile.TileFunctions() {
			fmt.Fprintf(&b, "static_assert(static_cast<int (*)(%s)>(&nvshmemx::%s<%s(nvshmemx::%s)%d>) != nullptr, \"\");\n", params, f.Name, args, tile.Algo, algorithm)
		}
	}
	return b.String()
}

// refused are calls that a compiler must refuse, and its messages.
var refused = []struct{ call, says string }{
	{"nvshmemx::tile_broadcast<tensor, tensor, none, nvshmemx::NVLS_ONE_SHOT_PULL_NBI>(0, t, t, none{}, none{}, 0);", "take NVLS_ONE_SHOT_PUSH_NBI, which needs no multicast here"},
	{"nvshmemx::tile_allgather_block<tensor, tensor, none, nvshmemx::NVLS_TWO_SHOT_PUSH_NBI>(0, t, t, none{}, none{}, 0);", "take NVLS_ONE_SHOT_PUSH_NBI, which needs no multicast here"},
	{"nvshmemx::tile_sum_reduce_warp<tensor, tensor, none, nvshmemx::NVLS_TWO_SHOT_PULL_NBI>(0, t, t, none{}, none{}, 0, 0);", "tile_reduce: no such algorithm (take NVLS_ONE_SHOT_PULL_NBI"},
	{"nvshmemx::tile_sum_rooted_reduce<tensor, tensor, none, nvshmemx::NVLS_TWO_SHOT_PUSH_NBI>(0, t, t, none{}, none{}, 0, 0);", "not in tile_rooted_reduce"},
	{"nvshmemx::tile_sum_reduce<tensor, tensor, none, nvshmemx::NVLS_TWO_SHOT_PUSH_NBI>(0, t, t, none{}, none{}, 0);", "NVLS_TWO_SHOT_PUSH_NBI needs a root, before the flag"},
	{"nvshmemx::tile_collective_wait<nvshmemx::NVLS_TWO_SHOT_PULL_NBI>(0, 0);", "no collective has this algorithm"},
	{"nvshmemx::tile_put<tensor, tensor, none, nvshmemx::NVSHMEMI_TILE_ALGO_SENTINEL>(t, t, none{}, none{}, 0, 0);", "take PEER_PUSH_NBI"},
	{"nvshmemx::tile_put<tensor, doubles, none, nvshmemx::PEER_PUSH_NBI>(t, d, none{}, none{}, 0, 0);", "source and destination have different types"},
	{"nvshmemx::tile_put<tensor, tensor, nvshmemx::shape<int, int, int>, nvshmemx::PEER_PUSH_NBI>(t, t, {}, {}, 0, 0);", "the boundary has more dimensions than the source"},
}

// TestTileTypes compiles with nvcc the types of tensors and calls on them, and calls that it must
// refuse.
func TestTileTypes(t *testing.T) {
	nvcc, work := need.NVCC(t), t.TempDir()
	args := []string{"-std=c++17", "-arch=sm_75", "-ccbin", "gcc", "-I../../include/nvshmem", "-I../../device", "-ptx", "-o", filepath.Join(work, "out.ptx")}
	write := func(text string) string {
		source := filepath.Join(work, "tiles.cu")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return source
	}
	compile(t, nvcc, append(args, "-Werror", "all-warnings", write(tileShapes(t)))...)
	var b strings.Builder
	b.WriteString(tileTop + "using doubles = nvshmemx::Tensor<double, layout>;\n")
	for i, r := range refused {
		fmt.Fprintf(&b, "__global__ void k%d(tensor t, doubles d) { %s }\n", i, r.call)
	}
	out, err := exec.Command(nvcc, append(args, write(b.String()))...).CombinedOutput()
	if err == nil || strings.Contains(string(out), "rror limit reached") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, r := range refused {
		if !strings.Contains(string(out), r.says) {
			t.Errorf("%s is not refused by %q:\n%.3000s", r.call, r.says, out)
		}
	}
}

// TestTileNames: each tile of the newest release exists, and no other but those of 3.4.5.
func TestTileNames(t *testing.T) {
	_, now, _ := readDeviceFacts(t, newest)
	_, then, _ := readDeviceFacts(t, "3.4.5")
	names := spec.Nvshmem.TileNames()
	for _, name := range slices.Concat(now, then) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is absent", name)
		}
	}
	for _, name := range names {
		if !slices.Contains(now, name) && !slices.Contains(then, name) {
			t.Errorf("NVSHMEM has no %s", name)
		}
	}
	if len(now) != 44 {
		t.Errorf("%d tiles", len(now))
	}
}
