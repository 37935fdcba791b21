package jetstream

import (
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
)

// apiPrefix is where clients without a domain ask.
const apiPrefix = "$JS.API."

// Gateway hands on what comes on $JS.API to the subjects of a domain, where the
// leaf hears it: behind the interest in the inbox that it names. It works until
// nc, an ordinary connection to the server, is closed. There must be none where
// the server has a JetStream of its own.
func Gateway(nc *nats.Conn, domain string, log *slog.Logger) error {
	to := "$JS." + domain + ".API."
	sub, err := nc.Subscribe(apiPrefix+">", func(m *nats.Msg) {
		m.Subject = to + strings.TrimPrefix(m.Subject, apiPrefix)
		if err := nc.PublishMsg(m); err != nil {
			log.Debug("JetStream request not handed on", "subject", m.Subject, "error", err)
		}
	})
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	return nc.Flush()
}
