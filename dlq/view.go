package dlq

import "time"

// LetterView is a Letter for people and their programs: as JSON it has names in
// snake_case and times in RFC 3339, and reads back.
type LetterView struct {
	Reason        Reason        `json:"reason"`
	Error         string        `json:"error"`
	DiedAt        time.Time     `json:"died_at"`
	OriginQueue   string        `json:"origin_queue"`
	OriginSubject string        `json:"origin_subject"`
	OriginSeq     uint64        `json:"origin_seq"`
	PublishedAt   time.Time     `json:"published_at"`
	Attempts      uint32        `json:"attempts"`
	Replays       uint32        `json:"replays"`
	History       []AttemptView `json:"history"` // oldest first
}

// AttemptView is an Attempt for people and their programs.
type AttemptView struct {
	At      time.Time `json:"at"`
	Ended   time.Time `json:"ended"`
	Worker  string    `json:"worker"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error"`
}

// GroupView is a Group for people and their programs.
type GroupView struct {
	Reason    Reason    `json:"reason"`
	Error     string    `json:"error"`
	Subject   string    `json:"subject"`
	Count     int       `json:"count"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Sample    string    `json:"sample"`
	SampleSeq uint64    `json:"sample_seq"`
}

// View returns the letter as shown; its times are taken as Unix time.
func (l *Letter) View() LetterView {
	v := LetterView{
		l.Reason, l.Error, clock(l.DiedAt),
		l.OriginQueue, l.OriginSubject, l.OriginSeq, clock(l.PublishedAt),
		l.Attempts, l.Replays, make([]AttemptView, 0, l.History.Len()),
	}
	for a := range l.History.All() {
		v.History = append(v.History, a.View())
	}
	return v
}

// View returns the attempt as shown; its times are taken as Unix time.
func (a Attempt) View() AttemptView {
	return AttemptView{clock(a.At), clock(a.Ended), a.Worker, a.Outcome, a.Error}
}

// View returns the group as shown; its times are taken as Unix time.
func (g Group) View() GroupView {
	return GroupView{
		g.Reason, g.Error, g.Subject, g.Count,
		clock(g.First), clock(g.Last), g.Sample, g.SampleSeq,
	}
}

func clock(ns int64) time.Time { return time.Unix(0, ns).UTC() }
