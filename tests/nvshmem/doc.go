// Package nvshmem compares the surface of NVSHMEM with its facts, and runs typical programs.
// capi/spec/testdata/nvshmem-*.tsv has the facts; left.tsv lists the absent names.
package nvshmem
