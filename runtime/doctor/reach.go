package doctor

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
)

// Host is the part of a report about one host.
type Host struct {
	Name           string
	ID             string   // equal in PEs that share memory
	UsedInterfaces []string // the IP interfaces that a job would use with these settings
	Findings       []Finding

	PEs     []libshmem.PE // set by Reach
	Address []Address     // the addresses at which the host listens; set by Reach
}

// Address is an IP address of a host at which it listens for connections of the other hosts.
type Address struct {
	Interface string
	IP        string
	Port      int
	Token     string // a random text that the listener sends first
	UDP       int    // the port for datagrams; 0: none
	MTU       int    // of the interface
}

// failure is a connection that a host could not make.
type failure struct {
	Host, Address int // the other host, and which of its addresses
	Why           string
}

// Reach makes the first PE of each host of a job connect to all addresses of all other hosts, by
// TCP. Every PE calls it and gets the same hosts, in the order of their first PEs, and findings
// about the network between them. mine describes this PE's host. timeout is how long each
// connection may take. With deep, Reach also looks for the causes of faults, by large transfers,
// datagrams and look-ups of names.
func Reach(boot bootstrap.Bootstrap, mine Host, timeout time.Duration, deep bool) ([]Host, []Finding, error) {
	ids, err := gather(boot, mine.ID)
	if err != nil {
		return nil, nil, err
	}
	number, me := map[string]int{}, -1 // me: number of the host whose first PE this is; -1: another PE is its first
	var pes [][]libshmem.PE            // of each host
	for pe, id := range libshmem.ByPE(ids) {
		if _, known := number[id]; !known {
			if pe == boot.Rank() {
				me = len(pes)
			}
			number[id] = len(pes)
			pes = append(pes, nil)
		}
		pes[number[id]] = append(pes[number[id]], pe)
	}
	r := &receiver{}
	if me >= 0 {
		var stop func()
		mine.Address, stop = listen()
		defer stop()
		defer r.close()
		for i := range mine.Address {
			if deep {
				r.receive(i, &mine.Address[i])
			}
		}
	}
	byPE, err := gather(boot, mine) // now that the first PE of each host listens
	if err != nil {
		return nil, nil, err
	}
	hosts := make([]Host, len(pes))
	for i := range hosts {
		hosts[i] = byPE[pes[i][0]]
		hosts[i].PEs = pes[i]
	}
	var failed []failure
	if me >= 0 {
		failed = connect(hosts, me, timeout)
	}
	all, err := gather(boot, failed)
	if err != nil {
		return nil, nil, err
	}
	byHost := make([][]failure, len(hosts))
	for i := range hosts {
		byHost[i] = all[pes[i][0]]
	}
	findings := findFaults(hosts, byHost)
	if deep {
		first := make([]int, len(pes))
		for i := range pes {
			first[i] = int(pes[i][0])
		}
		more, err := exchange(boot, hosts, first, me, r, timeout)
		if err != nil {
			return nil, nil, err
		}
		findings = append(findings, more...)
	}
	return hosts, findings, nil
}

// gather exchanges a value of each PE, as JSON, by the bootstrap's allgather, and returns all of
// them, by PE.
func gather[T any](boot bootstrap.Bootstrap, mine T) ([]T, error) {
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	all, err := boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(all))
	for i, b := range all {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, fmt.Errorf("read the findings of PE %d: %w", i, err)
		}
	}
	return out, nil
}

// listen opens a listener at each address of this host, and serves its connections. It sends a
// random token first, so that a caller notices a connection to another host that has the same
// address.
func listen() (addresses []Address, stop func()) {
	var open []net.Listener
	for _, a := range local() {
		l, err := net.Listen("tcp", net.JoinHostPort(a.IP, "0"))
		if err != nil {
			continue // the address was added or removed this moment
		}
		a.Port, a.Token = l.Addr().(*net.TCPAddr).Port, rand.Text()
		addresses, open = append(addresses, a), append(open, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // stop has closed the listener
				}
				_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // if it passes, the caller gets no token
				go func() {
					defer c.Close()
					if _, err := c.Write([]byte(a.Token)); err == nil {
						echo(c)
					}
				}()
			}
		}()
	}
	return addresses, func() {
		for _, l := range open {
			_ = l.Close()
		}
	}
}

// local returns the addresses at which another host may reach this one.
func local() []Address {
	var all []Address
	interfaces, _ := net.Interfaces() // after an error there are no addresses to reach
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, _ := i.Addrs() // none after an error
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				all = append(all, Address{Interface: i.Name, IP: n.IP.String(), MTU: i.MTU})
			}
		}
	}
	return all
}

// maxDials caps the connections that one host tries at the same time.
const maxDials = 64

// connect tries all addresses of the other hosts, at most maxDials at a time, and returns the
// connections that failed.
func connect(hosts []Host, me int, timeout time.Duration) []failure {
	var (
		mu     sync.Mutex
		failed []failure
		wait   sync.WaitGroup
	)
	slots := make(chan struct{}, maxDials)
	for h := range hosts {
		if h == me {
			continue
		}
		for a, address := range hosts[h].Address {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				if err := checkConnects(address, timeout); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, failure{h, a, err.Error()})
				}
			})
		}
	}
	wait.Wait()
	return failed
}

// errSilent is the error of a connection that was neither accepted nor refused in time.
var errSilent = errors.New("no answer")

// checkConnects connects to an address, checks the token that only this job's listener there sends,
// and closes the connection.
func checkConnects(a Address, timeout time.Duration) error {
	c, err := dial(a, timeout)
	if err == errSilent {
		return fmt.Errorf("no answer in %v", timeout)
	}
	if err != nil {
		return err
	}
	return c.Close()
}

// dial connects to an address, and checks the token that its listener sends. It returns errSilent
// if nothing replies.
func dial(a Address, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(a.IP, strconv.Itoa(a.Port)), timeout)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Timeout() {
			return nil, errSilent
		}
		for errors.As(err, &op) {
			err = op.Err
		}
		return nil, err
	}
	if err := readToken(c, a.Token, timeout); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// readToken reads the token that a listener sends first. It returns an error if something else
// comes, because another process or another host has that address, or if the token does not come in
// time.
func readToken(c net.Conn, token string, timeout time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	b := make([]byte, len(token))
	for n := 0; n < len(b); {
		k, err := c.Read(b[n:])
		n += k
		if string(b[:n]) != token[:n] {
			return errors.New("another process answers there")
		}
		if err != nil && n < len(b) {
			return errors.New("it accepts connections but does not answer")
		}
	}
	return nil
}
