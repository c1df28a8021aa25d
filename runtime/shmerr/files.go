package shmerr

import (
	"errors"
	"syscall"
)

// FileRemedy returns the remedy for an error of a system call that opens a file: a higher limit if
// too many files are open, else the remedy other.
func FileRemedy(err error, other string) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "close files, or raise the limit with ulimit -Hn"
	case errors.Is(err, syscall.ENFILE):
		return "raise fs.file-max of the machine"
	}
	return other
}
