// Package testkit is what the tests of several packages share: random numbers
// that a seed repeats, long forms, ports, and what a test needs that may be
// missing.
// Nothing but tests imports it (TestArrows of cmd/dsend).
//
// The environment of a test run:
//
//	TEST_SEED=n         repeats the random choices of a run that logged it
//	TEST_STORM=1        asks for the long forms, each of which ends with a row of one table
//	TEST_REQUIRE_ALL=1  turns a skip for want of a tool into a failure
package testkit

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Dice gives a test random numbers, and logs the seed that repeats them. Two
// tests with one seed have different ones.
func Dice(t testing.TB) *rand.Rand {
	t.Helper()
	h := fnv.New64()
	_, _ = h.Write([]byte(t.Name())) // never fails
	return rand.New(rand.NewPCG(Seed(t), h.Sum64()))
}

// Seed gives a test a seed, and logs it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("TEST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("TEST_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("TEST_SEED=%d", seed)
	return seed
}

// Storm tells whether the long forms were asked for.
func Storm() bool { return os.Getenv("TEST_STORM") == "1" }

// StormRow prints a row of the table that make storm collects: what was done to
// the store so many times, and what was found wrong after it.
func StormRow(fault string, count, lost, undone, invented, damaged, failed int) {
	fmt.Printf("storm table | %-46s | %6d | %4d | %6d | %8d | %7d | %6d |\n", fault, count, lost, undone, invented, damaged, failed)
}

// Need skips a test that does not have what it needs, or fails it where
// everything is required. what says how it is installed.
func Need(t testing.TB, have bool, what string) {
	t.Helper()
	switch {
	case have:
	case RequireAll():
		t.Fatal("TEST_REQUIRE_ALL=1, and this is missing: " + what)
	default:
		t.Skip("needs: " + what)
	}
}

// RequireAll tells whether nothing may be left out.
func RequireAll() bool { return os.Getenv("TEST_REQUIRE_ALL") == "1" }
