// Package wire runs whole jobs whose hosts are joined by a fault proxy, and attacks them as a process
// does that is root on the network between two hosts: it changes bytes, repeats what was sent, cuts
// connections, and lets nothing pass any more. Every job must end right, or with a report.
//
// The hosts are network namespaces with a TAP device each. The proxy passes the frames between the
// devices, so that it is below TCP and knows of libfabric only where its headers are.
//
//	TESTS=full go test ./tests/wire -v -run 'TestAttacks/^net$' -wire.seed=77
//
// prints the job of one seed.
package wire
