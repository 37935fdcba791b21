package leaf

import "errors"

// The errors a caller meets, each with its moment.
var (
	// ErrClosed: the Conn was closed by its owner.
	ErrClosed = errors.New("leaf: closed")
	// ErrDisconnected: there is no connection now (one is being made). What was handed over is dropped.
	ErrDisconnected = errors.New("leaf: not connected to the server")
	// ErrUnreachable: there is nobody at the address, as far as the network tells; the server said nothing.
	ErrUnreachable = errors.New("leaf: cannot reach the server")
	// ErrOverflow: the server takes less than is sent, for longer than Options.SendWait. What was handed over is dropped.
	ErrOverflow = errors.New("leaf: too many bytes wait for the server")
	// ErrTooLarge: header and payload together are over the server's max_payload; it would close the connection for it.
	ErrTooLarge = errors.New("leaf: message larger than the server's max_payload")
	// ErrSubject: a subject, reply or group that is empty, has white space or is too long.
	ErrSubject = errors.New("leaf: invalid subject, reply or group")
	// ErrDenied: the user of this connection may not publish there; the server would close the connection for it.
	ErrDenied = errors.New("leaf: no permission to publish to that subject")
	// ErrProtocol: the server said what the leaf protocol does not know.
	ErrProtocol = errors.New("leaf: protocol error")
	// ErrStale: nothing was heard from the server for three ping intervals.
	ErrStale = errors.New("leaf: the server does not answer")
)

// ServerError is the text of an -ERR line.
type ServerError string

func (e ServerError) Error() string { return "leaf: server says: " + string(e) }
