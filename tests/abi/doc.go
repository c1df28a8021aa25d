// Package abi tests the two libraries from outside: their exports and dependencies, whether the
// header compiles alone, and the effects of loading them on a process. It owns symbols.txt, the
// list of exported names, which no generator writes. The programs of tests/c test the functions
// themselves.
package abi
