// Package nvshmem holds the surface of NVSHMEM against its facts, and runs programs as their users
// have them. capi/spec/testdata/nvshmem-*.tsv has the facts; left.tsv lists what is absent.
package nvshmem
