package mrcache

// Pointer is an address of memory that is not Go's.
var Pointer = pointer
