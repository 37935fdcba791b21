//go:build !race

package system

const raced = false
