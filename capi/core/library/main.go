// Package main is libshmem_core.so. It only imports package core: if the linked package itself
// contains C, go build runs cgo and the C compiler for every package with C each time that it
// links, cached or not, in search of headers. That took 16 s of processor time; a link takes 1.3.
package main

import _ "libshmem/capi/core" // it has the table of functions

// main is never called: the library has only functions for C.
func main() {}
