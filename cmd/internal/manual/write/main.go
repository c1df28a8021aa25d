// Command write makes the manual pages of the commands, and their completion for bash and zsh, from
// the descriptions that the commands themselves print:
//
//	write BIN OUT
//
// BIN has the commands. OUT gets man/man1, bash and zsh; a folder with older ones is emptied first.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"libshmem"
	"libshmem/cmd/internal/manual"
)

// commands lists the commands that describe themselves: the program, and its first arguments.
var commands = [][]string{
	{"shmemrun"}, {"shmemrun", "--nvshmrun"}, {"shmem-info"}, {"shmem-info", "--nvshmem"}, {"shmem-doctor"}, {"shmem-trace"}, {"shmem-perf"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "write: usage: write BIN OUT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

// write makes the pages and the completions of all commands, from the descriptions that they print.
func write(bin, out string) error {
	pages := []manual.Page{manual.Oshcc}
	for _, command := range commands {
		p, err := describe(filepath.Join(bin, command[0]), command[1:])
		if err != nil {
			return err
		}
		pages = append(pages, p)
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for i := range pages {
		p := &pages[i]
		for name, text := range map[string]string{
			"man/man1/" + p.Name + ".1": p.Man(libshmem.Version),
			"bash/" + p.Name:            p.Bash(),
			"zsh/_" + p.Name:            p.Zsh(),
		} {
			if err := file(filepath.Join(out, name), text); err != nil {
				return err
			}
		}
		for _, alias := range p.Aliases {
			if err := file(filepath.Join(out, "man/man1", alias+".1"), ".so man1/"+p.Name+".1\n"); err != nil {
				return err
			}
			if err := os.Symlink(p.Name, filepath.Join(out, "bash", alias)); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe runs a command with the argument by which it prints its page as JSON, and returns the
// page.
func describe(program string, args []string) (manual.Page, error) {
	var p manual.Page
	text, err := exec.Command(program, append(args, manual.Ask)...).Output()
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("ask %s for its description: %w (build the commands first)", program, err)
	}
	return p, nil
}

// file writes a file, and makes its folder.
func file(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
