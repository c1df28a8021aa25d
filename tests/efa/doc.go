// Package efa holds the library to what a user needs of it on EFA and Slingshot, over a
// libfabric that keeps the rules of their providers (fabric/ofi/stub) and no NIC at all.
package efa
