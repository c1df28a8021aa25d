// Package device judges device code on a machine without a GPU: by the PTX that
// nvcc makes of it, for each architecture, and by whether its headers compile
// alone with every compiler that users have. What the code computes is tested
// on a GPU, by the programs of tests/gpu, and as host threads beside the queue.
//
// A kernel stands in a .cu file here, and what its PTX must look like stands in
// the comments above it. TestKernels finds both; a new kernel is one function
// and its rules, in a file that is there or in a new one. No GPU test replaces
// this one: an order or a scope that is too weak seldom fails when it is run.
//
// # Rules
//
// A rule speaks of instructions and of the paths that a thread can take through
// the kernel, not of their order in the text, so that it holds however the
// compiler lays out branches. Where a loop may run zero times, there is a path
// around it.
//
//	// PTX: one S                     one in the text, and in no loop
//	// PTX: 32 S                      that many in the text
//	// PTX: some S                    one or more
//	// PTX: none S
//	// PTX: none S after T            on no path from a T
//	// PTX: none S between T and U    on no path from a T to the next U
//	// PTX: every S after T           each path from the start to an S passes a T
//	// PTX: every S before T          each path from an S to the end passes a T
//	// PTX: every S in a loop
//
// Behind each of them may stand which paths it is about. Instructions that are
// on none of those are as if they were not there.
//
//	from T                         what follows a T, as if threads began there
//	without U                      paths on which no U is carried out
//	from T without U               what follows a T, up to the next U
//
// S, T and U are instructions: `st.relaxed.sys.v2` is every instruction whose
// first word is st and that has the other words behind it, in this order, with
// or without more between them. Other words are not looked at: `st` is every
// store, whatever its order. `S | T` is either, `S except T` is what matches S
// but not T. A name in capitals stands for either of those, for the whole file:
//
//	// PTX let SLOT = st.relaxed.sys.v2
//
// A rule that speaks of instructions which the kernel, or what is left of it,
// does not have fails, but for those where none is what it says; a T or U that
// paths begin or end with has to be there always. What is behind a predicate may
// not have been carried out: it begins paths and ends none.
package device
