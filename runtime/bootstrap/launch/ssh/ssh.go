// Package ssh makes command lines of the system's ssh, and says in one line why one failed.
//
// ssh uses the user's configuration, agent, known hosts and jump hosts. The package starts no
// process.
package ssh

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// options lists ssh's options for every connection. They follow those of the user, because ssh
// takes the first value of an option. With them ssh asks nothing at the terminal; forwards no
// ports, which only one connection could have; runs no command of its configuration instead of the
// agent; and gives up a host that is silent for 15 s.
var options = []string{"-T", "-x",
	"-oBatchMode=yes", "-oConnectTimeout=20", "-oServerAliveInterval=5", "-oServerAliveCountMax=3",
	"-oClearAllForwardings=yes", "-oRemoteCommand=none", "-oLogLevel=ERROR"}

// withoutOptions lists commands that a user may name instead of ssh, and that do not take ssh's
// options: their arguments are a host and a command.
var withoutOptions = []string{"rsh", "blaunch"}

// Command returns the command line that runs a command on a host. with is ssh or a command like it,
// perhaps with options. The host's login shell interprets the command.
func Command(with []string, host, command string) []string {
	if slices.Contains(withoutOptions, filepath.Base(with[0])) {
		return append(slices.Clone(with), host, command)
	}
	return append(append(slices.Clone(with), options...), "--", host, command)
}

// Quote quotes a word of a command for a shell, of Bourne's kind or csh's.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Start returns the command by which the host's shell executes a program in its own place. The
// arguments must need no quotes.
func Start(program string, args ...string) string {
	return strings.Join(append([]string{"exec", Quote(program)}, args...), " ")
}

// An origin is a set of programs that may have failed. The status of ssh tells them apart.
type origin int

const (
	bySSH   origin = 1 << iota // ssh itself
	byShell                    // the host's shell, or the program
)

// A reason says what a pattern in the output of ssh, or of the remote shell, means. In cause, $1
// stands for the pattern's group; in both texts HOST stands for the host and FILE for the program.
type reason struct {
	origins       origin // the programs that print it
	pattern       *regexp.Regexp
	cause, remedy string
}

// reasons lists the texts that Explain knows. It takes the first one that matches.
var reasons = []reason{
	{bySSH, regexp.MustCompile(`REMOTE HOST IDENTIFICATION HAS CHANGED`), "its host key is not the one in known_hosts", "if the host is new: ssh-keygen -R HOST, then ssh HOST once"},
	{bySSH, regexp.MustCompile(`Certificate invalid: (not yet valid|expired)`), "its host certificate is $1", "compare the clocks of both hosts, or have it renewed"},
	{bySSH, regexp.MustCompile(`Host key verification failed`), "its host key is not in known_hosts", "run ssh HOST once and compare the key"},
	{bySSH, regexp.MustCompile(`(?:Permission denied|Too many authentication failures)(?: \(([^)]*)\))?`), "permission denied ($1)", "put your public key into its ~/.ssh/authorized_keys, or unlock your key with ssh-add; ssh HOST must not ask"},
	{bySSH, regexp.MustCompile(`Could not resolve hostname [^:]*: (.*)`), "the name does not resolve: $1", "check the name, or give its HostName in ~/.ssh/config"},
	{bySSH, regexp.MustCompile(`Bad configuration option|Bad owner or permissions|no argument after keyword|unsupported option`), "ssh rejects its configuration", "run ssh HOST true and see its message"},
	{bySSH, regexp.MustCompile(`(Connection refused|No route to host|Network is unreachable|Connection timed out|Operation timed out)`), "it cannot be reached: $1", "see that it is up and runs sshd, and what is between; ssh HOST must work"},
	{bySSH, regexp.MustCompile(`(?m)(?:kex_exchange_identification|Connection closed by|Connection reset by).*$`), "it closed the connection before a login", "see its sshd's log; MaxStartups of sshd_config may be too low"},
	{bySSH | byShell, regexp.MustCompile(`This account is currently not available|account has expired|password has expired`), "the account there takes no login", "run ssh HOST and see its message"},
	{byShell, regexp.MustCompile(`(?m)(?:not found|No such file or directory|Unknown command|does not exist).*$`), "it has no FILE", "install libshmem there at the same path, name another with --prefix, or copy it with --sync"},
	{byShell, regexp.MustCompile(`Exec format error|cannot execute binary file|Syntax error|syntax error`), "FILE is for another kind of processor", "install a libshmem for HOST there, and name it with --prefix"},
	{byShell, regexp.MustCompile(`[Pp]ermission denied`), "FILE cannot be executed", "chmod +x it there"},
	{bySSH | byShell, regexp.MustCompile(`No space left on device|Disk quota exceeded`), "its disk is full", "make room there"},
}

// StatusSSH is the exit status of ssh if ssh itself, not the remote command, has failed.
const StatusSSH = 255

const (
	statusCannot = 126 // the exit status of a shell that cannot execute the program
	statusAbsent = 127 // the exit status of a shell that has not found the program
)

// Explain returns an error that says in one line why no agent has started on a host: text is the
// output of ssh and the host's shell, status the exit status of ssh, file the agent's program.
func Explain(host, file, text string, status int) error {
	cause, remedy := "", "see that ssh HOST true works"
	failed := byShell
	if status == StatusSSH {
		failed = bySSH
	}
	for _, r := range reasons {
		m := r.pattern.FindStringSubmatch(text)
		if m == nil || r.origins&failed == 0 {
			continue
		}
		group := ""
		if len(m) > 1 {
			group = m[1]
		}
		cause, remedy = strings.ReplaceAll(r.cause, "$1", group), r.remedy
		cause = strings.ReplaceAll(cause, " ()", "") // the pattern's group is optional
		break
	}
	switch last := lastLine(text); {
	case cause != "":
	case status == statusAbsent:
		cause, remedy = "it has no FILE", "install libshmem there at the same path, name another with --prefix, or copy it with --sync"
	case status == statusCannot:
		cause, remedy = "FILE cannot be executed", "see its mode and its owner there"
	case last != "":
		cause = last
	default:
		cause = fmt.Sprintf("ssh ended with status %d and no message", status)
	}
	fill := strings.NewReplacer("HOST", host, "FILE", file)
	return fmt.Errorf("start agent on %s: %s (%s)", host, fill.Replace(cause), fill.Replace(remedy))
}

// lastLine returns the last line of a text that is not blank; "" if there is none.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return s
		}
	}
	return ""
}

// Here reports whether a host is this machine, without a look-up over the network: it is the
// machine's name, localhost, or an address of an interface. For a name with a user before it Here
// returns false, because that user's login differs from this process's.
func Here(host string) bool {
	if strings.Contains(host, "@") {
		return false
	}
	if host == "localhost" {
		return true
	}
	if me, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(me, ".")
		if host == me || host == short {
			return true
		}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == ip.WithZone("") {
			return true
		}
	}
	return false
}
