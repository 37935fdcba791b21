package queue

import (
	"testing"
	"time"
)

// TestACommitHasTheTimeOfWhatItSays begins a commit long before there is
// anything to say: after a restart the time must not be that of the beginning.
func TestACommitHasTheTimeOfWhatItSays(t *testing.T) {
	for _, op := range []Op{
		&Publish{Queue: "q", MaxAttempts: -1},
		&Declare{Name: "p", Settings: Defaults()},
		&Purge{Name: "full"},
		&Delete{Name: "full", Seq: 1},
		&Kill{Name: "full", Seq: 1},
	} {
		r := newRig(t, testConfig())
		r.done(t, &Publish{Queue: "full", MaxAttempts: -1})
		r.now += int64(time.Hour)
		r.turn(t) // the loop turns, and has nothing to say
		r.done(t, op)
		if now := r.recovered(t, r.log).Now(); now != r.now {
			t.Errorf("%T: recovered at %s, done at %s", op, short(now-epoch), short(r.now-epoch))
		}
	}
}

// TestTimeInACommitDoesNotGoBack has a commit that stays open for a while.
func TestTimeInACommitDoesNotGoBack(t *testing.T) {
	r := newRig(t, testConfig())
	r.turn(t, &Publish{Queue: "q", MaxAttempts: -1})
	r.now += int64(time.Second)
	r.turn(t, &Pull{Queue: "q", Inbox: "in", Batch: 1})
	r.commit(t)
	if now := r.recovered(t, r.log).Now(); now != r.now {
		t.Errorf("recovered at %s, the last delivery was at %s", short(now-epoch), short(r.now-epoch))
	}
}

// TestAnEmptyCommitSaysNothing proves that time alone makes no commit.
func TestAnEmptyCommitSaysNothing(t *testing.T) {
	r := newRig(t, testConfig())
	r.now += int64(time.Hour)
	r.turn(t, &Pull{Queue: "none", Inbox: "in", Batch: 1}, &Members{Queue: "none", Group: "g", Count: 1})
	if !r.out.Empty() {
		t.Errorf("there is nothing to keep, and yet %x", r.out.Records)
	}
	if r.out.Quiet() {
		t.Error("the pull is to be answered")
	}
}

// TestTheClockDoesNotGoBack gives the State a time before the last.
func TestTheClockDoesNotGoBack(t *testing.T) {
	r := newRig(t, testConfig())
	r.now += int64(time.Hour)
	r.done(t, &Publish{Queue: "q", Delay: time.Minute, MaxAttempts: -1})
	at := r.now
	r.now -= int64(30 * time.Minute)
	r.do(t)
	e, err := r.state.Entry("q", 1)
	if r.state.Now() != at || err != nil || e.Due != at+int64(time.Minute) {
		t.Errorf("it is %s, and the message due at %s", short(r.state.Now()-epoch), short(e.Due-epoch))
	}
}
