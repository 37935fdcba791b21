//go:build race

package system

// raced: the server is built with the race detector, as the tests are.
const raced = true
