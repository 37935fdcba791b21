package jetstream

import (
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// endpoint is one thing that can be asked. handle gives the response; nil if it
// has answered itself.
type endpoint struct {
	subject    string // behind the prefix, without the names at its end
	least, max int    // how many names follow; max -1 is any number
	kind       string // of the response
	handle     func(*call) (any, error)
}

var endpoints = []endpoint{
	{"INFO", 0, 0, server.JSApiAccountInfoResponseType, (*call).accountInfo},

	{"STREAM.CREATE", 1, 1, server.JSApiStreamCreateResponseType, (*call).streamCreate},
	{"STREAM.UPDATE", 1, 1, server.JSApiStreamUpdateResponseType, (*call).streamUpdate},
	{"STREAM.INFO", 1, 1, server.JSApiStreamInfoResponseType, (*call).streamInfo},
	{"STREAM.LIST", 0, 0, server.JSApiStreamListResponseType, (*call).streamList},
	{"STREAM.NAMES", 0, 0, server.JSApiStreamNamesResponseType, (*call).streamNames},
	{"STREAM.DELETE", 1, 1, server.JSApiStreamDeleteResponseType, (*call).streamDelete},
	{"STREAM.PURGE", 1, 1, server.JSApiStreamPurgeResponseType, (*call).streamPurge},
	{"STREAM.MSG.GET", 1, 1, server.JSApiMsgGetResponseType, (*call).messageGet},
	{"STREAM.MSG.DELETE", 1, 1, server.JSApiMsgDeleteResponseType, (*call).messageDelete},
	{"DIRECT.GET", 1, -1, "", (*call).directGet},

	{"CONSUMER.CREATE", 1, -1, server.JSApiConsumerCreateResponseType, (*call).consumerCreate},
	{"CONSUMER.DURABLE.CREATE", 2, 2, server.JSApiConsumerCreateResponseType, (*call).consumerCreateDurable},
	{"CONSUMER.INFO", 2, 2, server.JSApiConsumerInfoResponseType, (*call).consumerInfo},
	{"CONSUMER.LIST", 1, 1, server.JSApiConsumerListResponseType, (*call).consumerList},
	{"CONSUMER.NAMES", 1, 1, server.JSApiConsumerNamesResponseType, (*call).consumerNames},
	{"CONSUMER.DELETE", 2, 2, server.JSApiConsumerDeleteResponseType, (*call).consumerDelete},
	{"CONSUMER.PAUSE", 2, 2, server.JSApiConsumerPauseResponseType, (*call).consumerPause},
}

// find gives the endpoint of a subject, and the names in it.
func find(subject string) (endpoint, []string) {
	for _, e := range endpoints {
		rest, ok := strings.CutPrefix(subject, e.subject)
		switch {
		case !ok || rest != "" && rest[0] != '.':
			continue
		case rest == "" && e.least == 0:
			return e, nil
		case rest == "":
			continue
		}
		names := strings.Split(rest[1:], ".")
		if len(names) >= e.least && (e.max < 0 || len(names) <= e.max) {
			return e, names
		}
	}
	return endpoint{kind: noKind, handle: (*call).unknown}, nil
}

// unknown refuses what is not served, by its subject.
func (c *call) unknown() (any, error) {
	for asked, instead := range map[string]string{"STREAM.SNAPSHOT.": "dsend backup", "STREAM.RESTORE.": "dsend restore"} {
		if strings.HasPrefix(c.subject, asked) {
			return nil, refuse(server.JSBadRequestErr, "%s is not served by Dsend: use %q", c.subject, instead)
		}
	}
	return nil, refuse(server.JSBadRequestErr, "%s is not served by Dsend", c.subject)
}
