package stub

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	old    = "version=1.22"
	direct = "efa-direct"
	rdm    = "efa"
)

// Each rule is broken by a program, which sees the answer of the table, and another one where
// the rule is switched off. "stub: " before an answer: the process ends with that line.
var breaks = []struct {
	rule, what, settings, fabric string
	env                          string
	answer, without              string
}{
	{"R1a", "orders", old, "", "", "ENODATA", "what was asked"},
	{"R1c", "none-granted", old, "", "", "what was asked", "more"},
	{"R1d", "granted", "", direct, "", "ENODATA", "more"},
	{"R2a", "first", "", "", "", "efa-direct", "efa"},
	{"R3a", "cq-large", "", direct, "", "EINVAL", "fine"},
	{"R3a", "cq-large", old, "", "", "EINVAL", "fine"},
	{"R3a", "tagged", old + " max_cq=2048", "", "", "EINVAL", "fine"},
	{"R3g", "cq-full", "", direct, "", "lost", "EOVERRUN"},
	{"R4", "stranger", "", direct, "", "ENOTCONN", "fine"},
	{"R5a", "send-bare", "version=2.1", direct, "", "stub: R5a: ", "fine"},
	{"R5b", "recv-bare", "version=2.1", direct, "", "stub: R5b: ", "fine"},
	{"R5c", "write-bare", "version=2.1", direct, "", "stub: R5c: ", "fine"},
	{"R5d", "send-bare", "version=2.3", direct, "", "EINVAL", "fine"},
	{"R5e", "recv-bare", "", direct, "", "EINVAL", "fine"},
	{"R5f", "write-bare", "", direct, "", "EINVAL", "fine"},
	{"R6a,R6b", "inject-write", "version=2.4", direct, "", "ENOSYS", "fine"},
	{"R6a,R6b", "inject-writedata", "version=2.1", direct, "", "ENOSYS", "fine"},
	{"R6b", "write-injected", "version=2.4", direct, "", "ENOSYS", "fine"},
	{"R6c", "inject-write", "", direct, "", "ENOSYS", "fine"},
	{"R6c", "write-injected", "", direct, "", "ENOSYS", "fine"},
	{"R6d", "send-long", "", direct, "", "stub: R6d: ", "fine"},
	{"R6e", "write-long", "", direct, "", "stub: R6e: ", "fine"},
	{"R6f", "inject-long", "version=2.4", direct, "", "stub: R6f: ", "fine"},
	{"R6g", "inject-long", "", direct, "", "EOPNOTSUPP", "fine"},
	{"R6h", "inject-above", old, "", "", "stub: R6h: ", "EINVAL"},
	{"R6i", "vector", "", direct, "", "EINVAL", "fine"},
	{"R6j", "nothing-bare", "version=2.3", direct, "", "EINVAL", "fine"},
	{"R7a", "context", "", direct, "", "written", "left alone"},
	{"R7a", "context-changed", "", direct, "", "stub: R7a: ", "fine"},
	{"R7b", "no-context", "", direct, "", "nothing", "completed"},
	{"R8a", "wait-fd", "version=2.1", direct, "", "ENOSYS", "fine"},
	{"R8b", "wait-fd", "version=2.4", rdm, "", "ENOSYS", "fine"},
	{"R8f", "wait-fd", "", rdm, "", "ENOSYS", "fine"},
	{"R8i", "wait-remote", "", rdm, "", "fine", "ENOSYS"},
	{"R8k", "tagged", "", direct, "", "ENOSYS", "fine"},
	{"R9a", "lost-no-eq", old, "", "", "stub: R9a: ", "silence"},
	{"R9a", "lost-no-eq", "", rdm, "", "stub: R9a: ", "silence"},
	{"R9b", "lost", "", rdm, "", "ENOTCONN", "silence"},
	{"R10b", "unpolled", old, "", "", "nothing", "completed"},
	{"R10c", "seventeenth", "", rdm, "", "EAGAIN", "fine"},
	{"R10d", "inject-first", "", rdm, "", "EAGAIN", "fine"},
	{"R11a", "data-context", "", direct, "", "NULL", "a context"},
	{"R11a", "data-context", "", rdm, "", "NULL", "a context"},
	{"R11b", "data-flags", "", direct, "", "all", "other"},
	{"R11c", "data-receive", "", direct, "", "a receive", "NULL"},
	{"R11e", "data-source", "", direct, "", "filled", "empty"},
	{"R11f", "data-unlike", "version=2.1", rdm, "", "EOPNOTSUPP", "fine"},
	{"R11h", "rma-offered", "version=2.1 unsolicited=0", direct, "", "ENODATA", "fine"},
	{"R11i", "rma-offered", "unsolicited=0", direct, "", "ENODATA", "fine"},
	{"R12a", "messages", "", direct, "", "any", "in order"},
	{"R12a", "messages", old, "", "", "any", "in order"},
	{"R12a,R12c", "completions", "", direct, "", "any", "in order"},
	{"R13a", "dmabuf-offset", "", direct, "", "EINVAL", "there"},
	{"R13d", "gpu-closed", "hmem=0", direct, "", "ENOSYS", "fine"},
	{"R13e", "two-pieces", "", direct, "", "EINVAL", "fine"},
	{"R13b", "dmabuf-page", "", direct, "", "EINVAL", "fine"},
	{"R13c", "dmabuf-old", "", direct, "", "EBADFLAGS", "fine"},
	{"R14b", "key", "", direct, "", "the device's", "as asked"},
	{"R15a", "inject-error", "", rdm, "", "without context", "nothing"},
	{"R15b", "inject-error", "", direct, "", "without context", "nothing"},
	{"R15c", "gone", "gone=silent", direct, "", "ECONNABORTED", "EIO"},
	{"R15d", "gone", "", direct, "", "ENOTCONN", "EIO"},
	{"R15e", "gone", "gone=never", direct, "", "EHOSTUNREACH", "EIO"},
	{"R15f", "bad-key", "", direct, "", "EINVAL", "EIO"},
	{"R15f", "bad-key", "sick=1", direct, "", "EINVAL", "EIO"},
	{"R15g", "key-status", "", direct, "", "7", "0"},
	{"R15h", "key-status", "sick=1", direct, "", "2", "0"},
	{"R15j", "gone-status", "", direct, "", "9", "0"},
	{"R15k", "gone-status", "gone=silent", direct, "", "13", "0"},
	{"R15l", "gone-status", "gone=silent", rdm, "", "4124", "0"},
	{"R15m", "gone-status", "gone=never", direct, "", "15", "0"},
	{"R15n", "stranger-status", "", direct, "", "14", "0"},
	{"R15p", "truncated", "", direct, "", "EMSGSIZE", "ETRUNC"},
	{"R16a", "send-queue", "", direct, "", "EAGAIN", "fine"},
	{"R16g", "cancel", "", direct, "", "ENOSYS", "ENOENT"},
	{"R17a", "hmem-mode", "", rdm, "", "ENODATA", "fine"},
	{"R17b", "hmem", "cuda=look", rdm, "", "ENODATA", "fine"},
	{"R19a", "data", "provider=cxi", "", "", "EBADFLAGS", "fine"},
	{"R19b,R19a", "writedata", "provider=cxi", "", "", "ENOSYS", "fine"},
	{"R19c,R19a", "inject-data-cxi", "provider=cxi", "", "", "ENOSYS", "fine"},
	{"R19d", "dmabuf-cxi", "provider=cxi", "", "", "EIO", "fine"},
	{"R19g", "inject-cxi", "provider=cxi", "", "", "EMSGSIZE", "EINVAL"},
	{"R20b", "option-cuda", "p2p=no", rdm, "", "EOPNOTSUPP", "fine"},
	{"R20c", "option-cuda", "hmem=0", rdm, "", "EINVAL", "fine"},
	{"R20e", "option-shm-on", "", rdm, "FI_EFA_ENABLE_SHM_TRANSFER=0", "EINVAL", "fine"},
	{"R20g", "option-unknown", "", direct, "", "ENOPROTOOPT", "fine"},
	{"R20h", "option-length", "", rdm, "", "EINVAL", "fine"},
	{"R23a", "fork", "fork=old", direct, "", "stub: R23a: ", "forked"},
	{"R24a", "open", "version=2.4", rdm, "FI_EFA_ENABLE_SHM_TRANSFER=0", "stub: R24a: ", "opened"},
}

// What holds without a rule of its own to be switched off.
var holds = []struct{ what, settings, fabric, env, answer string }{
	{"option-cuda", "", rdm, "", "fine"},
	{"option-cuda", "", direct, "", "fine"},
	{"option-shm", "", rdm, "", "fine"},
	{"fork", "fork=old", direct, "FI_EFA_FORK_SAFE=1", "forked"},
	{"wait-fd", "version=2.3", direct, "", "fine"},
	{"wait-fd", "", rdm, "FI_EFA_ENABLE_SHM_TRANSFER=0", "fine"},
	{"send-bare", "", rdm, "", "fine"},
	{"stranger", "", rdm, "", "fine"},
	{"data", "provider=verbs", "", "", "fine"},
	{"first", old, "", "", "efa"},
	{"wait", "", direct, "", "until trywait"},
	{"data-unlike", "", rdm, "", "fine"},
	{"completions", "provider=verbs", "", "", "in order"},
	{"messages", "provider=cxi", "", "", "in order"},
	{"nothing-bare", "", direct, "", "fine"},
	{"moves", "", rdm, "", "RDMA alone"},
	{"no-receive", "", direct, "", "waits"},
	{"no-receive", "", rdm, "", "sent"},
	{"receive-queue", "", direct, "", "EAGAIN"},
	{"fence", "provider=cxi", "", "", "fine"},
	{"fence", "", direct, "", "EINVAL"},
	{"cq-large", "max_cq=65536", direct, "", "fine"},
	{"cq-large", "max_cq=16384", direct, "", "EINVAL"},
}

func TestRules(t *testing.T) {
	library := Build(t)
	program := compiled(t, "breaks", library)
	run := func(what, fabric, settings, env string) string {
		cmd := exec.Command(program, what)
		if fabric != "" {
			cmd.Args = append(cmd.Args, fabric)
		}
		cmd.Env = append(os.Environ(), "FAKE_NIC="+settings)
		if env != "" {
			cmd.Env = append(cmd.Env, env)
		}
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.HasPrefix(string(out), "stub: ") {
			t.Errorf("%s: %v", what, err)
		}
		return strings.TrimSpace(string(out))
	}
	for _, b := range breaks {
		name := b.rule + " " + b.what + " " + b.settings
		got := run(b.what, b.fabric, b.settings, b.env)
		if got != b.answer && !(strings.HasPrefix(b.answer, "stub: ") && strings.HasPrefix(got, b.answer)) {
			t.Errorf("%s: %q, want %q", name, got, b.answer)
		}
		if got := run(b.what, b.fabric, b.settings+" without="+b.rule, b.env); got != b.without {
			t.Errorf("%s, without the rule: %q, want %q", name, got, b.without)
		}
	}
	for _, h := range holds {
		if got := run(h.what, h.fabric, h.settings, h.env); got != h.answer {
			t.Errorf("%s with %q over %s: %q, want %q", h.what, h.settings, h.fabric, got, h.answer)
		}
	}
}
