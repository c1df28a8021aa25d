package table

// channel has the addresses of the proxy channel of NVSHMEM's device code, which the core makes and
// the front writes into the state of that code.
var channel = Unit{
	Name:   "channel",
	Doc:    "where device code of NVIDIA's archive finds the parts of its proxy channel, through which it submits operations on PEs that loads and stores do not reach (queue/channel).",
	GoFile: "queue/channel/zz_channel.go",
	Constants: []Constant{
		{"CHANNEL_LOG2", "requestsLog2", 22, "binary logarithm of the bytes of the requests: device code is compiled for 4 MiB"},
		{"CHANNEL_ELEMENTS_LOG2", "elementsLog2", 19, "binary logarithm of the bytes of the elements, of 16 bytes each, for results of gets of one word and of atomic operations"},
	},
	Structs: []Struct{
		{Name: "channel", Go: "Addresses", Doc: "The parts: each member is the address, for kernels, of what its comment describes. Those up to cst_ack are pinned main memory, the others memory of the GPU.", Members: []Member{
			{Name: "requests", Type: "u64", Doc: "the ring of requests, of entries of 8 bytes; kernels write them"},
			{Name: "elements", Type: "u64", Doc: "results, each beside a flag"},
			{Name: "coalesced", Type: "u64", Doc: "results of the gets of a whole warp, 256 bytes for each element"},
			{Name: "complete", Type: "u64", Doc: "the position below which requests may be overwritten; the proxy writes it"},
			{Name: "quiet_issue", Type: "u64", Doc: "the position up to which a quiet waits; kernels raise it"},
			{Name: "quiet_ack", Type: "u64", Doc: "the position up to which all operations are complete; the proxy writes it"},
			{Name: "cst_issue", Type: "u64", Doc: "as quiet_issue, for what other PEs have written here; kernels raise it"},
			{Name: "cst_ack", Type: "u64", Doc: "the position of cst_issue that the proxy has served; it writes it"},
			{Name: "issue", Type: "u64", Doc: "the position of the next request; kernels add to it"},
			{Name: "complete_seen", Type: "u64", Doc: "complete, as kernels saw it last"},
			{Name: "head", Type: "u64", Doc: "how many elements have been taken; kernels add to it"},
		}},
	},
}
