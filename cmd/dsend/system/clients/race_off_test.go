//go:build !race

package clients

// raced tells whether the tests look for races; then the server does too.
const raced = false
