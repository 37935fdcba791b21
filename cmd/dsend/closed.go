package main

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

// closedLog is the log of a data folder that no server has open, and what is
// in it.
type closedLog struct {
	*wal.Survey
	found *durable.Examination // nil with a fault
	fault error                // it cannot be understood, although its checksums are right
}

// surveyLog looks at the log of a data folder.
func surveyLog(dir string) (*wal.Survey, error) {
	survey, err := wal.OpenSurvey(logFolder(dir))
	switch {
	case errors.Is(err, wal.ErrInUse):
		return nil, fmt.Errorf("%s is in use: stop the server first", dir)
	case errors.Is(err, wal.ErrNoLog), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w (it is what --data of serve says, and has a folder called log)", dir, wal.ErrNoLog)
	case errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s is not a folder (\"dsend restore\" makes one of a backup)", dir)
	}
	return survey, err
}

// examineLog looks at the log of a data folder and rebuilds what is in it.
func examineLog(dir string) (*closedLog, error) {
	survey, err := surveyLog(dir)
	if err != nil {
		return nil, err
	}
	l := &closedLog{Survey: survey}
	l.found, l.fault = durable.Examine(survey, queue.Config{Defaults: queue.Defaults()})
	if pathError := new(fs.PathError); errors.As(l.fault, &pathError) {
		return nil, errors.Join(l.fault, survey.Close())
	}
	return l, nil
}

// good tells whether a server would take the log, and nothing is missing.
func (l *closedLog) good() bool { return !l.Damaged() && l.fault == nil && l.found.Mending == nil }

// damaged is the error of a log that is not good.
func (l *closedLog) damaged(dir string) error {
	if l.fault != nil {
		return fmt.Errorf("%s: the log cannot be understood, and is left as it is: %w", l.Dir, l.fault)
	}
	return fmt.Errorf("%s is damaged: \"dsend repair %s\" sets the damaged log aside and keeps the rest", l.Dir, dir)
}
