// Package repo holds the rules of the source tree as tests: which package may import which, where
// cgo, exports and the environment are allowed, and what no file may contain. Each rule states its
// reason, so that a failure explains itself and a change of the rule has to address that reason.
//
// The package reads sources only; tests/abi checks the built files.
package repo
