package admin

// The endpoints, below <prefix>.api.
const (
	QueueLs     = "queue.ls"
	QueueInfo   = "queue.info"
	QueueAdvise = "queue.advise"
	QueuePeek   = "queue.peek"
	QueuePause  = "queue.pause"
	QueueResume = "queue.resume"
	QueuePurge  = "queue.purge"
	QueueRm     = "queue.rm"
	MsgGet      = "msg.get"
	MsgRm       = "msg.rm"
	MsgKill     = "msg.kill"
	DLQLs       = "dlq.ls"
	DLQShow     = "dlq.show"
	DLQGroups   = "dlq.groups"
	DLQReplay   = "dlq.replay"
	DLQPurge    = "dlq.purge"
	BackupBegin = "backup.begin"
	BackupRead  = "backup.read"
	BackupEnd   = "backup.end"
	ReloadNow   = "reload"
)

// endpoints is everything that can be asked.
func (s *Service) endpoints() []endpoint {
	return []endpoint{
		look(QueueLs, "List queues by name", s.queueLs),
		look(QueueInfo, "Show one queue", s.queueInfo),
		look(QueueAdvise, "Tell how long deliveries stay unanswered, and what the visibility timeout should be", s.queueAdvise),
		look(QueuePeek, "Look at the messages of a queue, in order of sequence; nothing changes", s.queuePeek),
		change(QueuePause, "Stop the deliveries of a queue", s.queuePause),
		change(QueueResume, "Start the deliveries of a queue again", s.queueResume),
		change(QueuePurge, "Remove messages of a queue, in any state", s.queuePurge),
		change(QueueRm, "Remove a queue with all its messages; its dead letters elsewhere stay", s.queueRm),
		look(MsgGet, "Show one message with its body", s.msgGet),
		change(MsgRm, "Remove one message, in any state", s.msgRm),
		change(MsgKill, "Move one message to the dead-letter queue, in any state", s.msgKill),
		look(DLQLs, "List dead letters, by the name of their queue or of the dead-letter queue", s.dlqLs),
		look(DLQShow, "Show one dead letter with its body", s.dlqShow),
		look(DLQGroups, "Count dead letters by cause", s.dlqGroups),
		change(DLQReplay, "Bring a page of dead letters back for a fresh life", s.dlqReplay),
		change(DLQPurge, "Remove a page of dead letters", s.dlqPurge),
		change(BackupBegin, "Hold the log as of now, to be copied; one at a time, given up after 30 s of silence", s.backupBegin),
		look(BackupRead, "Read a piece of a file of the log that is held", s.backupRead),
		change(BackupEnd, "Let go of the log that is held", s.backupEnd),
		change(ReloadNow, "Read the configuration again", s.reload),
	}
}
