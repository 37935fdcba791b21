package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"dsend/durable/queue"
)

// apiError is the shape of a JetStream error.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// wireCode is what a refusal is called on the wire: an HTTP-like code, and
// JetStream's own error code where the case is the same.
type wireCode struct{ code, errCode int }

// JetStream's error codes (nats-server, server/errors.json).
const (
	jsBadRequest       = 10003
	jsStreamNotFound   = 10059
	jsStreamOffline    = 10118
	jsStoreFailed      = 10077
	jsMessageTooLarge  = 10054
	jsStorageExceeded  = 10047
	jsTooManyRequests  = 10167
	jsInsufficient     = 10023
	jsStreamNameExists = 10058
	jsOverlap          = 10065
	jsTTLInvalid       = 10165
	jsCounterDisabled  = 10168
	jsBatchDisabled    = 10174
	jsScheduleInvalid  = 10189
	jsTargetInvalid    = 10190
	jsFastDisabled     = 10205
	jsSourceHeader     = 10227
)

var wireCodes = map[queue.Code]wireCode{
	queue.NoQueue:      {404, jsStreamNotFound},
	queue.BadName:      {400, jsBadRequest},
	queue.Undeclared:   {503, jsStreamOffline},
	queue.FullMessages: {503, jsStoreFailed},
	queue.FullBytes:    {503, jsStoreFailed},
	queue.TooLarge:     {400, jsMessageTooLarge},
	queue.NoSpace:      {500, jsStorageExceeded},
	queue.BadOption:    {400, jsBadRequest},
	queue.BadSettings:  {400, jsBadRequest},
	queue.Exists:       {400, jsStreamNameExists},
	queue.Overlaps:     {400, jsOverlap},
	queue.Stopping:     {503, jsInsufficient},
}

// wireError gives the JetStream form of a refusal.
func wireError(err *queue.Error) *apiError {
	c, ok := wireCodes[err.Code]
	if !ok {
		c = wireCode{400, jsBadRequest}
	}
	return &apiError{c.code, c.errCode, err.Text}
}

// brief bounds what is said of a request: an error may repeat a word of it that
// is as long as a message can be, and an answer longer than that cannot be sent.
func brief(text string) string { return fmt.Sprintf("%.1000s", text) }

// badPublish gives the JetStream form of what is wrong with a publish.
func badPublish(err error) *apiError {
	var option *optionError
	if errors.As(err, &option) {
		return &apiError{400, option.errCode, brief(option.text)}
	}
	return &apiError{400, jsBadRequest, brief(err.Error())}
}

// Domain is the JetStream domain that Dsend bears.
const Domain = "dsend"

// appendAck appends the answer to a publish that is stored.
func appendAck(dst []byte, r *queue.Reply) []byte {
	dst = append(dst, `{"stream":"`...)
	dst = append(dst, r.Queue...) // a queue name needs no escapes
	dst = append(dst, `","seq":`...)
	dst = strconv.AppendUint(dst, r.Seq, 10)
	if r.Duplicate {
		dst = append(dst, `,"duplicate":true`...)
	}
	return append(dst, `,"domain":"`+Domain+`"}`...)
}

// refusedPublish is the answer to a publish that is not stored.
type refusedPublish struct {
	Error  *apiError `json:"error"`
	Stream string    `json:"stream"`
	Seq    uint64    `json:"seq"`
}

func appendRefusal(dst []byte, stream string, err *apiError) []byte {
	body, jsonErr := json.Marshal(refusedPublish{Error: err, Stream: stream})
	if jsonErr != nil { // strings and numbers only
		panic(jsonErr)
	}
	return append(dst, body...)
}

// statusText is a status as JetStream writes it; one about a bound goes on with
// that.
func statusText(s queue.Status) string {
	switch s {
	case queue.StatusHeartbeat:
		return "100 Idle Heartbeat"
	case queue.StatusBadRequest:
		return "400 Bad Request"
	case queue.StatusNoMessages:
		return "404 No Messages"
	case queue.StatusNoQueue:
		return "404 Queue Not Found"
	case queue.StatusTimeout:
		return "408 Request Timeout"
	case queue.StatusTooBig:
		return "409 Message Size Exceeds MaxBytes"
	case queue.StatusMaxWaiting:
		return "409 Exceeded MaxWaiting"
	case queue.StatusBatchCompleted:
		return "409 Batch Completed"
	case queue.StatusRemoved:
		return "409 Consumer Deleted"
	case queue.StatusShutdown:
		return "409 Server Shutdown"
	case queue.StatusMaxBatch:
		return "409 Exceeded MaxRequestBatch of "
	case queue.StatusMaxExpires:
		return "409 Exceeded MaxRequestExpires of "
	case queue.StatusMaxBytes:
		return "409 Exceeded MaxRequestMaxBytes of "
	}
	return fmt.Sprintf("500 Status %d", s)
}
