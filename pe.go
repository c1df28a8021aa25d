package libshmem

// PE is the number of a processing element in its job, and the index of its address in a network's
// address vector. A PE's place in a team or on a node is an int.
type PE int32

// NoPE stands where no PE is known.
const NoPE PE = -1
