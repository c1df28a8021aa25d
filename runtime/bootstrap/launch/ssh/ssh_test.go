package ssh

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	got := Command([]string{"ssh", "-p", "22"}, "a", Start("/opt/it's/shmemrun", "--agent"))
	if !slices.Equal(got[:3], []string{"ssh", "-p", "22"}) || !slices.Equal(got[len(got)-3:], []string{"--", "a", `exec '/opt/it'\''s/shmemrun' --agent`}) ||
		!slices.Contains(got, "-oBatchMode=yes") {
		t.Errorf("%q", got)
	}
	if got := Command([]string{"/lsf/bin/blaunch", "-z"}, "a", "exec x"); !slices.Equal(got, []string{"/lsf/bin/blaunch", "-z", "a", "exec x"}) {
		t.Errorf("without ssh's options: %q", got)
	}
	out, err := exec.Command("sh", "-c", "printf %s "+Quote(`a'b $x "c`)).Output()
	if err != nil || string(out) != `a'b $x "c` {
		t.Errorf("a shell reads %q, error %v", out, err)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		text   string
		status int
		want   string
	}{
		{"u@b: Permission denied (publickey,password).\r\n", 255, "start agent on b: permission denied (publickey,password) (put your public key"},
		{"@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\r\n", 255, "its host key is not the one in known_hosts (if the host is new: ssh-keygen -R b,"},
		{"No ED25519 host key is known for b and you have requested strict checking.\nHost key verification failed.\n", 255, "its host key is not in known_hosts (run ssh b once"},
		{"ssh: Could not resolve hostname b: Name or service not known\r\n", 255, "the name does not resolve: Name or service not known"},
		{"ssh: connect to host b port 22: Connection refused\n", 255, "it cannot be reached: Connection refused"},
		{"ssh: connect to host b port 22: No route to host\n", 255, "it cannot be reached: No route to host"},
		{"kex_exchange_identification: Connection closed by remote host\n", 255, "it closed the connection before a login (see its sshd's log; MaxStartups"},
		{"bash: line 1: /p/bin/shmemrun: No such file or directory\n", 127, "start agent on b: it has no /p/bin/shmemrun (install libshmem there at the same path"},
		{"", 127, "it has no /p/bin/shmemrun"},
		{"sh: 1: exec: /p/bin/shmemrun: Permission denied\n", 126, "/p/bin/shmemrun cannot be executed (chmod +x it there)"},
		{"bash: /p/bin/shmemrun: cannot execute binary file: Exec format error\n", 126, "is for another kind of processor"},
		{"This account is currently not available.\n", 1, "the account there takes no login (run ssh b and see its message)"},
		{"mkdir: cannot create directory '/tmp/shmem': No space left on device\n", 1, "its disk is full (make room there)"},
		{"one\nsomething else\n\n", 3, "start agent on b: something else (see that ssh b true works)"},
		{"", 9, "ssh ended with status 9 and no message"},
	} {
		if got := Explain("b", "/p/bin/shmemrun", c.text, c.status).Error(); !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%q, status %d: %s\nwant %s", c.text, c.status, got, c.want)
		}
	}
}

func TestHere(t *testing.T) {
	me, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{me, "localhost", "127.0.0.1", "127.8.9.1", "::1"} {
		if !Here(host) {
			t.Errorf("%s is not this machine", host)
		}
	}
	for _, host := range []string{"u@localhost", "192.0.2.7", "2001:db8::7", "no-such-host", ""} {
		if Here(host) {
			t.Errorf("%s is this machine", host)
		}
	}
}
