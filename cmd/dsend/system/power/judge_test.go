//go:build linux

package power

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// judge opens the store on a disk and compares what it holds with what it may hold: one of some views, the newest last. It
// gives the view, and says what is wrong. Then the store must be fit for use: it takes more, can be closed in order, and
// holds the same when it is opened again.
func judge(t testing.TB, what, dir string, may ...view) (v view, found verdict) {
	t.Helper()
	fail := func(err error) (view, verdict) {
		t.Logf("%s: %v", what, err)
		return v, verdict{failed: 1}
	}
	var err error
	watched("recovery", func() { v, err = look(dir, nil) })
	if err != nil {
		return fail(err)
	}
	if found = compare(v, may); found.bad() {
		t.Logf("%s: %+v: there is\n%v\nand may be\n%v", what, found, v, may)
		return v, found
	}
	more := []step{declare("later"), publish("later", "more")}
	watched("a store that has recovered", func() {
		var again view
		if again, err = look(dir, more); err != nil {
			return
		}
		if v, err = look(dir, nil); err == nil && !v.equal(again) {
			err = fmt.Errorf("closed in order with\n%v\nopened with\n%v", again, v)
		}
		delete(again.last, "later")
		delete(again.messages, message{name: "more", queue: "later", seq: 1, whole: true})
		if err == nil && compare(again, may).bad() {
			err = fmt.Errorf("one message more, and there is\n%v", again)
		}
	})
	if err != nil {
		return fail(err)
	}
	return v, found
}

// look opens the store on a disk, does some steps, looks, and closes it.
func look(dir string, steps []step) (v view, err error) {
	s, err := openStore(dir)
	if err != nil {
		return v, err
	}
	for _, do := range steps {
		err = errors.Join(err, do(s))
	}
	if err == nil {
		v, err = s.view()
	}
	return v, errors.Join(err, s.Close())
}

// compare says what is wrong with a view that should be one of some.
func compare(v view, may []view) (found verdict) {
	for _, m := range may {
		if v.equal(m) {
			return verdict{}
		}
	}
	newest := may[len(may)-1]
	there, should := v.places(), newest.places()
	for name, places := range should {
		switch got := there[name]; {
		case len(got) == 0:
			found.lost++
		case !got[0].whole:
			found.damaged++
		case len(got) > 1 || got[0] != places[0]:
			found.undone++
		}
	}
	for name, places := range there {
		switch {
		case should[name] != nil:
		case string(bodyOf(name)) != "" && places[0].whole:
			found.undone++
		default:
			found.invented++
		}
	}
	if !found.bad() && !maps.Equal(v.last, newest.last) {
		found.undone++
	}
	return found
}

// String is a view for people.
func (v view) String() string {
	lines := []string{fmt.Sprint(v.last)}
	for m := range v.messages {
		lines = append(lines, fmt.Sprintf("  %+v", m))
	}
	return strings.Join(lines, "\n")
}
