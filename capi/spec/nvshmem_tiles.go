package spec

import "strings"

// A Tile is a function of NVSHMEM that kernels call with tensors: a template for each scope of
// threads in tileScopes.
type Tile struct {
	Name    string // without namespace and scope
	Tensors bool   // the template has types of two tensors and a boundary, besides its algorithm
	Algo    string // the type of the algorithm
	Params  string // of the function, in the form of C++
	Body    string // C++ text; $scope and $call mean the same as in Kernel.Body
	Doc     string
}

// TileNamespace is the C++ namespace of the tile functions.
const TileNamespace = "nvshmemx"

// tileScopes are the groups of threads that make a call together: the end of the name, and the
// template argument.
var tileScopes = []struct{ suffix, class string }{
	{"", "shmemi_by_thread"}, {"_warp", "shmemi_by_warp"}, {"_warpgroup", "shmemi_by_warpgroup"}, {"_block", "shmemi_by_block"},
}

// A TileFunction is a Tile in a scope.
type TileFunction struct {
	*Tile
	Name, Scope string
}

// FullName returns the name with its namespace, for reports and lists.
func (f *TileFunction) FullName() string { return TileNamespace + "::" + f.Name }

// TileFunctions returns the functions of a row of tile functions, one for each scope of threads
// that make a call together.
func (t *Tile) TileFunctions() []TileFunction {
	var out []TileFunction
	for _, s := range tileScopes {
		out = append(out, TileFunction{t, t.Name + s.suffix, s.class})
	}
	return out
}

// TileNames lists the tile functions of a surface, for reports. Overloads follow each other.
func (s *Surface) TileNames() []string {
	var out []string
	for i := range s.Tiles {
		if i > 0 && s.Tiles[i-1].Name == s.Tiles[i].Name {
			continue
		}
		for _, f := range s.Tiles[i].TileFunctions() {
			out = append(out, f.FullName())
		}
	}
	return out
}

const (
	tileTensors   = "src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary, "
	tileTeam      = "nvshmem_team_t team, "
	tileGiven     = "src, dst, start_coord, boundary, "
	tileOfOne     = "tile_algo_t"
	tileOfATeam   = "tile_coll_algo_t"
	tileByTheRoot = "int root, uint64_t flag"
)

// nvshmemTiles returns the tile functions of NVSHMEM 3.8, where all PEs get the result of
// tile_<op>_reduce. tile_<op>_allreduce is NVSHMEM 3.4's name for that; its tile_<op>_reduce is now
// tile_<op>_rooted_reduce.
func nvshmemTiles() []Tile {
	out := []Tile{
		{"tile_put", true, tileOfOne, tileTensors + "int pe, uint64_t flag", "nvshmemi_tile_copy<$scope, 0, algo>($job, $call, " + tileGiven + "pe, flag)", "Copies a tile to another PE. Nonblocking: nvshmem_quiet completes it."},
		{"tile_get", true, tileOfOne, tileTensors + "int pe, uint64_t flag", "nvshmemi_tile_copy<$scope, 1, algo>($job, $call, " + tileGiven + "pe, flag)", "Copies a tile from another PE. Nonblocking: nvshmem_quiet completes it."},
		{"tile_broadcast", true, tileOfATeam, tileTeam + tileTensors + "uint64_t flag", "nvshmemi_tile_push<$scope, 0, algo>($job, $call, team, " + tileGiven + "flag)", "Copies the caller's tile to dst of all PEs of a team. tile_collective_wait completes it."},
		{"tile_allgather", true, tileOfATeam, tileTeam + tileTensors + "uint64_t flag", "nvshmemi_tile_push<$scope, 1, algo>($job, $call, team, " + tileGiven + "flag)", "Copies the caller's tile to its place in dst of each PE of a team. tile_collective_wait completes it."},
	}
	for _, op := range []string{"sum", "max", "min"} {
		// shmemi_late_<op> is the operator for half and bfloat16, whose headers a program may leave out.
		folded := func(kind, more string) string {
			return "nvshmemi_tile_" + kind + "<$scope, shmemi_" + op + ", shmemi_late_" + op + ", algo" + more + ">($job, $call, team, " + tileGiven
		}
		for _, name := range []string{"tile_" + op + "_reduce", "tile_" + op + "_allreduce"} {
			doc := "Combines the tiles of all PEs of a team, for all of them (" + op + ")."
			if strings.HasSuffix(name, "allreduce") {
				doc = "What tile_" + op + "_reduce does, by the name of NVSHMEM 3.4."
			}
			out = append(out,
				Tile{name, true, tileOfATeam, tileTeam + tileTensors + tileByTheRoot, folded("reduce", ", 0") + "root, flag)", doc},
				Tile{name, true, tileOfATeam, tileTeam + tileTensors + "uint64_t flag", folded("allreduce", "") + "flag)", "The call above without a root, for NVLS_ONE_SHOT_PULL_NBI, which needs none."})
		}
		out = append(out, Tile{"tile_" + op + "_rooted_reduce", true, tileOfATeam, tileTeam + tileTensors + tileByTheRoot, folded("reduce", ", 1") + "root, flag)", "Combines the tiles of all PEs of a team, for the root (" + op + ")."})
	}
	return append(out, Tile{"tile_collective_wait", false, tileOfATeam, tileTeam + "uint64_t flag", "nvshmemi_tile_wait<$scope, algo>($job, $call, team, flag)", "Waits until the team's earlier tile collectives of this algorithm are complete in the caller's dst. Other PEs may still pull from its src."})
}

const nvshmemTileAbout = `device/tile/nvshmemx_tile_api_defines.cuh: calls on tiles, which tensors describe
(device_host/nvshmem_tensor.h).

All threads of a scope make a call together. All PEs of a team make the team's calls, one scope of
a PE at a time. An element counts if start_coord plus its place in the tile is below boundary in
each dimension. flag is 0. Two tensors that do not fit, or another flag, end the program with a
message. A tensor whose data is NULL and an invalid team give NVSHMEMX_ERROR_INVALID_VALUE; other
calls return NVSHMEMX_SUCCESS.

The library does not use multicast: an algorithm whose name begins with NVLS selects the PEs that
move the data. In reductions other PEs pull the source: it must stay unchanged until the program
knows that they are done, for example by a barrier after their tile_collective_wait. It must not be
the destination.
`

const nvshmemTileTypes = `
#include "nvshmemi_tile.h"
`
