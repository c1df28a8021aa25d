package need

import "os"

// Root needs to be root, to become a user with fewer rights.
func Root(t T) {
	if os.Geteuid() != 0 {
		lack(t, "needs root, to take rights away")
	}
}
