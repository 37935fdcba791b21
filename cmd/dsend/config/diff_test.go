package config

import (
	"slices"
	"testing"
)

func TestDiff(t *testing.T) {
	old := load(t, Options{File: write(t, "d.yaml", "log: {level: info}\nqueues:\n- {name: a, subjects: [x]}\n- {name: b}\n- {name: c}\n")})
	new := load(t, Options{File: write(t, "d.yaml", "log: {level: debug}\ndefaults: {max_attempts: 3}\nqueues:\n- {name: d}\n- {name: a, backoff: [1s]}\n- {name: c, max_attempts: 5}\n")})
	changes, immutable := Diff(old, new)
	want := []string{
		"log.level: info -> debug",
		"defaults.max_attempts: 5 -> 3",
		"queues.d: new",
		`queues.a.subjects: x -> ""`,
		"queues.a.max_attempts: 5 -> 3",
		"queues.a.backoff.initial: 1s -> 0s",
		"queues.a.backoff.factor: 2 -> 0",
		"queues.a.backoff.max: 10m -> 0s",
		`queues.a.backoff.list: "" -> 1s`,
		"queues.b: taken out",
	}
	if !slices.Equal(changes, want) || immutable != nil {
		t.Errorf("got %q, %q", changes, immutable)
	}
	if changes, immutable = Diff(old, old); changes != nil || immutable != nil {
		t.Errorf("nothing changed, got %q, %q", changes, immutable)
	}
}

// What a running server cannot change is named, by its key alone: a value may
// be a secret.
func TestDiffNamesTheImmutable(t *testing.T) {
	old := load(t, Options{})
	new := load(t, Options{}, "--data=x", "--prefix=p", "--http=", "--log-level=warn")
	changes, immutable := Diff(old, new)
	if want := []string{"http.listen", "storage.dir", "prefix"}; !slices.Equal(immutable, want) {
		t.Errorf("immutable: got %q, want %q", immutable, want)
	}
	if want := []string{"log.level: info -> warn"}; !slices.Equal(changes, want) {
		t.Errorf("changes: got %q, want %q", changes, want)
	}
}
