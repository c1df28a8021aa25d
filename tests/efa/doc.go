// Package efa tests the needs of users on EFA and Slingshot, over a libfabric that keeps the rules
// of their providers (fabric/ofi/stub), without a NIC.
package efa
