package proxy

// truncated is libfabric's error of a receive whose message was larger than its buffer.
const truncated = 265
