package main

import "syscall"

// ownGroup starts a command in a process group of its own. It does not outlive
// a worker that is killed: its message goes to another one then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
