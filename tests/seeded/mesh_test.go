package seeded

// Members of a mesh, their regions, and the plugin that has a mesh for each communicator of NCCL.
var meshDefects = []defect{
	{
		id: "mesh/freed-under-traffic", file: "runtime/mesh/region.go",
		was:  "			req.replies++\n			m.queueMessage(p, message{kind: revoke, id: r.id})\n",
		is:   "			m.queueMessage(p, message{kind: revoke, id: r.id})\n",
		user: "a page server that frees a region loses the clients that were reading it",
		by:   unit("./runtime/mesh", "^TestCloseRegion$"), says: `want a kind of "it is closed" with "member 0 has closed region"`,
	},
	{
		id: "mesh/let-go-too-early", file: "runtime/mesh/region.go",
		was:  "		if r.touches(id.Number) {",
		is:   "		if r.touches(id.Number) && r.begun == 0 {",
		user: "the memory of a closed region is read by clients although the program has unmapped it",
		by:   unit("./runtime/mesh", "^TestReadsOfClosing$"), says: `the region was closed before its reads had ended`,
	},
	{
		id: "mesh/bytes-of-gpus-to-anyone", file: "runtime/mesh/operation.go",
		was:  "kind == doPut && m.stage != nil && !p.gpu && ",
		is:   "kind == doPut && m.stage != nil && p.gpu && ",
		user: "a put from GPU memory ends the mesh of a member that was not opened for such memory",
		by:   unit("./runtime/mesh", "^TestGPURefused$"), says: `was not opened for that`,
	},
	{
		id: "mesh/forgets-what-a-word-had", file: "runtime/proxy/gpustage/arrival_word.go",
		was:  "mem.CachedWord{Value: value, Known: true}",
		is:   "mem.CachedWord{Value: old, Known: true}",
		user: "of the first two signals on a word in GPU memory one is lost",
		by:   unit("./runtime/mesh", "^TestGPUWords$"), says: `100 signals of 3 have made`,
	},
	{
		id: "mesh/leaves-with-messages", file: "runtime/mesh/mesh.go",
		was:  "!p.contacted && !p.hasTextToSend() {",
		is:   "!p.contacted {",
		user: "the last messages of a program that closes its mesh are lost, although their requests have ended",
		by:   unit("./runtime/mesh", "^TestMessagesOfLeft$"), says: `no message|has not answered`,
	},
	{
		id: "mesh/strong-signal-of-nccl-is-weak", file: "capi/rma/plugin.c",
		was:  "t->op != 0 ? &signal : NULL, t->strong, &handle",
		is:   "t->op != 0 ? &signal : NULL, 0, &handle",
		user: "a kernel sees NCCL's signal before bytes of earlier puts of its context",
		by:   test{pkg: "./tests/rma", run: "^TestNetworks$", needs: append([]string{"lib/libshmem_rma.so"}, libraries...)},
		says: `is not there at its strong signal`,
	},
	{
		id: "mesh/blob-without-proof", file: "runtime/mesh/address.go",
		was:  "	if !hmac.Equal(proof, m.proof(blob[:len(blob)-proofSize])) {",
		is:   "	if len(proof) != proofSize {",
		user: "a blob that somebody has changed leads a member to another process",
		by:   unit("./runtime/mesh", "^TestBadInput$"), says: `with "another secret`,
	},
	{
		id: "mesh/waits-for-ever", file: "runtime/mesh/drive.go",
		was:  "now.Sub(p.last) > m.timeout {",
		is:   "now.Sub(p.last) > m.timeout && len(p.open) == 0 {",
		user: "a request on a member that is stopped never ends",
		by:   unit("./runtime/mesh", "^TestSilentMember$"), says: `it has not ended within`,
	},
	{
		id: "mesh/not-yet-known", file: "fabric/ofi/pair/pair.go",
		was:  "if p.failures >= attempts && (p.known || m.now-p.first >= m.Late) {",
		is:   "if p.failures >= attempts {",
		user: "a client that is faster than the server which adds it is lost",
		by:   unit("./runtime/mesh", "^TestLateAdd$"), says: `cannot be reached any more`,
	},
	{
		id: "mesh/dead-without-operations", file: "fabric/ofi/pair/pair.go",
		was:  "		if !p.wanted && m.Late == 0 {",
		is:   "		if !p.wanted {",
		user: "a server never learns that a client has died",
		by:   unit("./fabric/ofi/pair", "^TestLateLoss$"), says: `does not learn that PE \d has died`,
	},
	{
		id: "mesh/outside-of-regions", file: "runtime/proxy/mem/regions_unsafe.go",
		was:  "in > r.all[i].len || n > r.all[i].len-in {",
		is:   "in > r.all[i].len {",
		user: "a client writes behind the end of a region",
		by:   unit("./runtime/mesh", "^TestMisuse$"), says: `the loss of the member has not come`,
	},
}
