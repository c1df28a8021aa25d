// Package repo holds the rules of the source tree as tests: which package may
// import which, where cgo, exports and the environment are allowed, and what no
// file may contain. Each rule carries its reason, so that a failure explains
// itself and a change of the rule has something to argue with.
//
// It reads sources only. What the built files must look like is tested in
// tests/abi.
package repo
