package spec

// This file has the calls for two-sided messages: the sender names a PE and a tag, and the receiver
// the memory.

var messageConstants = ConstantGroup{
	Doc: "What shmemx_recv and shmemx_recv_test take as *pe and *tag.",
	Constants: []Constant{
		{"SHMEMX_ANY_SOURCE", "(-1)", "a message of any PE"},
		{"SHMEMX_ANY_TAG", "(-1)", "a message with any tag"},
	},
}

// messageRow completes the table row of a function for two-sided messages: its section and its
// first release.
func messageRow(f Family) Family {
	f.Section, f.Since = "messages", "0.1"
	return f
}

var (
	sendParams = []Param{
		{Name: "buf", C: "const void *", Role: Source, Doc: "the bytes, anywhere in the memory of the caller"},
		{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "to send, up to 2^48 - 1; 0 sends the tag alone"},
		{Name: "tag", C: "int", Doc: "0 to 2^31 - 1"},
		paramPE,
	}
	recvParams = []Param{
		{Name: "buf", C: "void *", Role: Result, Doc: "where the bytes go, anywhere in the memory of the caller"},
		{Name: "capacity", C: "size_t", Unit: "bytes", Doc: "of buf"},
		{Name: "tag", C: "int *", Doc: "the tag to receive or SHMEMX_ANY_TAG; it becomes the tag of the message. NULL: any"},
		{Name: "pe", C: "int *", Doc: "the sender or SHMEMX_ANY_SOURCE; it becomes the sender of the message. NULL: any"},
		{Name: "nbytes", C: "size_t *", Role: Result, Doc: "the bytes of the message; or NULL"},
	}
	sendErrors = "Ends the job when tag, nbytes or pe is out of range, when buf is NULL although there are bytes, and before init " +
		"or after finalize. SHMEM_ON_FAILURE=return: returns -1 when the PE is lost, and the bytes may have arrived."
	recvErrors = "Ends the job when *tag or *pe is out of range, when buf is NULL although it has a capacity, and before init or after " +
		"finalize. Returns -1 when the message is longer than capacity: the last error is SHMEMX_ERROR_MESSAGE and its text has both " +
		"sizes, *tag, *pe and *nbytes are those of the message, buf is unchanged, and the message can be received by another call. " +
		"SHMEM_ON_FAILURE=return: returns -1 when the sender is lost and none of its messages is left; a loss of any PE ends a receive " +
		"from SHMEMX_ANY_SOURCE that finds no message, once for each thread."
	sendOrder = "Messages from one PE to another are received in the order in which they were sent, as far as the receiver's tags let them. " +
		"Puts before shmem_fence are visible before a message that is sent after it. A quiet does not wait for messages."
	recvOrder = "Among a sender's messages that match, it receives the one that was sent first. Puts that the sender made before " +
		"shmem_fence and the message are visible."
)

var messageCalls = []Family{
	messageRow(Family{
		Name: "send", Result: "int", Params: sendParams, Range: RangeRMA,
		Front: "shmemi_send(buf, nbytes, tag, pe, $call)",
		Doc: "Sends a message, and returns when buf may be used again. A short message (up to 4016 bytes in jobs of up to 256 PEs) waits in " +
			"the receiver's memory, SHMEM_MESSAGE_MEMORY for all its senders; the call waits when the receiver has too many messages " +
			"of the caller that it has not received. A longer message stays at the sender until a receive takes it, and the call waits for that. " +
			"Any thread may call.",
		Returns: "0, or -1: the PE is lost, or the thread's limit (shmemx_wait_limit) is over. After the limit, repeat the call with " +
			"the same arguments until it returns 0, and leave the bytes as they are: a longer message may have been announced to the receiver, and then goes on.",
		Errors: sendErrors, Order: sendOrder,
	}),
	messageRow(Family{
		Name: "send_test", Result: "int", Params: sendParams, Range: RangeRMA,
		Front: "shmemi_send_test(buf, nbytes, tag, pe, $call)",
		Doc: "Does what shmemx_send does as far as it can without waiting for the receiver. After 0, repeat the call with the same " +
			"arguments, and leave the bytes as they are, until it returns 1. A short message for which there was no room is not sent " +
			"before that. A longer message has been announced to the receiver, and is sent by the repeated calls. A PE may have 64 such " +
			"messages under way.",
		Returns: "1: the message is sent, and buf may be used again. 0: not yet. -1: the PE is lost.",
		Errors:  sendErrors, Order: sendOrder,
	}),
	messageRow(Family{
		Name: "recv", Result: "int", Params: recvParams, Range: RangeWait,
		Front: "shmemi_recv(buf, capacity, tag, pe, nbytes, $call)",
		Doc: "Waits for a message with this tag from this PE, and receives it. The caller spins, then yields, then sleeps. Messages that " +
			"no receive takes keep their places: a sender whose places are all taken waits, so that a message behind " +
			"them does not arrive. Any thread may call; each message is received once.",
		Returns: "0, or -1: the message is longer than capacity, a PE is lost, or the thread's limit (shmemx_wait_limit) is over.",
		Errors:  recvErrors, Order: recvOrder,
	}),
	messageRow(Family{
		Name: "recv_test", Result: "int", Params: recvParams, Range: RangeTest,
		Front: "shmemi_recv_test(buf, capacity, tag, pe, nbytes, $call)",
		Doc: "Receives a message if one is there. A long message that is announced is received whole: the call waits until its " +
			"sender has sent the bytes, in shmemx_send or in any other call for messages.",
		Returns: "1: received. 0: no such message is there. -1: the message is longer than capacity, or a PE is lost.",
		Errors:  recvErrors, Order: recvOrder,
	}),
}
