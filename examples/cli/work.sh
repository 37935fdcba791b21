#!/bin/sh
# A queue with nothing but the nats command line (NATS_URL says where).
set -e

# A message is stored when the command returns. The queue is made by its first one.
nats pub -J dsend.publish.mails 'to ann@example.org'

# Make it a stream with a consumer, as for JetStream, and look.
nats consumer add mails senders --pull --ack explicit --max-deliver 2 --defaults >/dev/null
nats consumer next mails senders --nak --raw    # fails: it comes again, later each time
nats consumer next mails senders --nak --raw    # fails for the last time: to the dead-letter queue
nats stream get mails-dlq 1 | grep '^to '       # it is all there

# Replay it and work it off. A worker can also be: nats reply dsend.work.mails --queue workers done
nats request --raw dsend.api.dlq.replay '{"queue":"mails"}' >/dev/null
nats consumer next mails senders --ack --raw
