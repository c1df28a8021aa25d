package libshmem

// Offset is a place in a PE's symmetric memory, in bytes from the start of its user heap, which is
// at 0. It names the same object on every PE. The library's own area and the program's statics lie
// below the user heap: their offsets are negative. Numbers that count from another start, such as
// those in the slots of a ring (the start of the segment) or in a file, are not Offsets.
type Offset int64
