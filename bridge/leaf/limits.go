package leaf

// limits is what the server allows this connection, from its INFO lines.
type limits struct {
	maxPayload int         // header and payload of one message; 0: no limit known
	publish    *permission // nil: anything
}

// permission is a user's publish permission as INFO tells it ("export"). The server closes a leaf that publishes
// outside of it (server/leafnode.go:3572-3662, 3678), which would hurt everybody for one message, so Batch asks here first.
// Replies that the server would let through because of allow_responses are not known here and are refused as well.
type permission struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

func (p *permission) allows(subject string) bool {
	return (p.Allow == nil || anyMatches(p.Allow, subject)) && !anyMatches(p.Deny, subject)
}

func anyMatches(patterns []string, subject string) bool {
	for _, p := range patterns {
		if Matches(p, subject) {
			return true
		}
	}
	return false
}
