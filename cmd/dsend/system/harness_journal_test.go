package system

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// journal is what a process wrote, line by line.
type journal struct {
	mu    sync.Mutex
	lines []string
	heard func(line string) // told of each line, in order; may be nil
}

// read takes lines until the process has ended.
func (j *journal) read(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" || err == nil {
			j.add(line)
		}
		if err != nil {
			return
		}
	}
}

func (j *journal) add(line string) {
	j.mu.Lock()
	j.lines = append(j.lines, line)
	j.mu.Unlock()
	if j.heard != nil {
		j.heard(line)
	}
}

// all is every line so far.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

// with is every line so far that contains all of the words.
func (j *journal) with(words ...string) (found []string) {
	for _, line := range j.all() {
		if containsAll(line, words) {
			found = append(found, line)
		}
	}
	return found
}

func containsAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// last is the newest n lines as one text.
func (j *journal) last(n int) string {
	lines := j.all()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// crashes are the lines that no process of ours may ever write.
func (j *journal) crashes() (found []string) {
	for _, line := range j.all() {
		for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", "goroutine 1 ["} {
			if strings.Contains(line, sign) {
				found = append(found, line)
			}
		}
	}
	return found
}
