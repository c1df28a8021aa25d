// Package main is libshmem_core.so. It has nothing but the import of package
// core: where the package that is linked has C in it, go build runs cgo and the
// C compiler for every package with C again each time that it links, cached or
// not, in search of headers. That took 16 s of a processor; a link takes 1.3.
package main

import _ "libshmem/capi/core" // the table of functions is in it

func main() {}
