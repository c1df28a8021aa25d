package spec

import (
	"cmp"
	"slices"
	"strings"
)

// nvshmemAbsent are the rows of the standard that NVSHMEM's host interface lacks or has with
// another meaning. Those with another meaning are among nvshmemRows. An absent row may still have a
// function on streams.
var nvshmemAbsent = strings.Fields(`
	pe_accessible query_initialized pcontrol realloc malloc_with_hints addr_accessible team_ptr
	ctx_create team_create_ctx ctx_destroy ctx_get_team ctx_session_start ctx_session_stop
	ibput ibget put_signal signal_set signal_add collect alltoalls sum_inscan sum_exscan
	wait_until test signal_wait_until
	wait_until_all wait_until_all_vector wait_until_any wait_until_any_vector wait_until_some wait_until_some_vector
	test_all test_all_vector test_any test_any_vector test_some test_some_vector
	pe_quiet set_lock clear_lock test_lock
	info_get_version team_get_config team_split_strided team_split_2d`)

// nvshmemRow removes the types, variants and functions from a row that NVSHMEM does not have. It
// returns false if NVSHMEM has none of the row's functions.
func nvshmemRow(f *Family) bool {
	if f.Instead != "" || slices.Contains(nvshmemAbsent, f.Name) || f.X && !f.Nvshmem {
		f.Front = "" // no function of the host
	}
	f.Front = cmp.Or(nvshmemFront[f.Name], f.Front)
	f.Contexts = false
	if strings.HasPrefix(f.Name, "atomic_") {
		f.Variants &^= Nbi
		f.Params = paramsOf(f.Params, false)
	}
	f.Types = without(f.Types, tLongDouble, tComplexD, tComplexF)
	if strings.HasSuffix(f.Name, "_reduce") {
		f.Types = without(f.Types, tPtrdiff)
	}
	if f.Name == "signal_fetch" {
		f.Params = slices.Clone(f.Params)
		f.Params[0].C = "uint64_t *"
	}
	if slices.Contains(notifyNames, f.Name) {
		f.Stream = nil
	}
	if f.Stream != nil && (f.Name == "put_signal" || f.Name == "signal_op") { // spell has copied the Stream
		f.Stream.Front = "sig_op = nvshmemi_signal_of(sig_op);\n" + f.Stream.Front
	}
	nvshmemKernels(f)
	return f.Front != "" || f.Stream != nil || f.Kernel != nil
}
