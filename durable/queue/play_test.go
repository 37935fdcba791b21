package queue

import (
	cmdline "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A play is a file in testdata: commands, a line of dashes, and what is said
// because of them. An empty line ends a scene, # begins a remark.
//
//	publish orders body=a
//	pull orders inbox=in1
//	----
//	stored orders 1
//	#1 in1 <- orders 1 attempt 1 until 30s pending 0 "a"
//
// The words are in play_words_test.go. Run with -update to have what is said
// written down; then read it.

var update = cmdline.Bool("update", false, "write what the plays say")

func TestPlays(t *testing.T) {
	files, err := filepath.Glob("testdata/*.play")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plays: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".play"), func(t *testing.T) { perform(t, file) })
	}
}

// scene is some commands and what they lead to.
type scene struct {
	line     int      // of the file, where it begins
	remarks  []string // and commands, as they are written
	commands []string
	said     string
}

func readPlay(t *testing.T, file string) (scenes []scene) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s *scene
	said := false
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n")+"\n", "\n") {
		line = strings.TrimRight(line, " \t")
		switch {
		case line == "":
			s, said = nil, false
		case said:
			s.said += line + "\n"
		case line == "----":
			said = true
		default:
			if s == nil {
				scenes = append(scenes, scene{line: i + 1})
				s = &scenes[len(scenes)-1]
			}
			s.remarks = append(s.remarks, line)
			if !strings.HasPrefix(line, "#") {
				s.commands = append(s.commands, line)
			}
		}
	}
	return scenes
}

func perform(t *testing.T, file string) {
	scenes := readPlay(t, file)
	st := newStage(t)
	for i := range scenes {
		s := &scenes[i]
		if len(s.commands) == 0 {
			continue
		}
		said := st.play(s)
		if said == s.said || *update {
			s.said = said
			continue
		}
		t.Fatalf("%s:%d:\n%s\nsays\n%s\nand not\n%s", file, s.line, strings.Join(s.remarks, "\n"), said, s.said)
	}
	if *update {
		writePlay(t, file, scenes)
	}
}

func writePlay(t *testing.T, file string, scenes []scene) {
	var b strings.Builder
	for i, s := range scenes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Join(s.remarks, "\n") + "\n")
		if len(s.commands) > 0 {
			b.WriteString("----\n" + s.said)
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// play does the commands of a scene and gives what is said.
func (st *stage) play(s *scene) string {
	st.said.Reset()
	for i, line := range s.commands {
		st.where = fmt.Sprintf("line %d: %s", s.line+i, line)
		st.command(line)
	}
	return st.said.String()
}
