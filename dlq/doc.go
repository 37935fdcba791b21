// Package dlq answers one question of a failed message: what if never?
//
// It holds what is known about a message that was given up, and the rules for
// looking at many of them and bringing them back.
//
//	attempt ended ──► History.Add ─┐
//	attempt ended ──► History.Add ─┤            given up
//	attempt ended ──► History.Add ─┴──────────────► Letter ──► log, and back
//	                                                  │
//	              ┌───────────────────┬───────────────┤
//	              ▼                   ▼               ▼
//	        Filter: which?      Groups: why?    Plan: replay when?
//
// # What is promised
//
//   - A History keeps the last MaxHistory attempts. It is immutable: Add returns
//     another one, so every reader may keep and share what it has. Its strings
//     are interned: a million letters with one error text hold it once.
//   - The texts that Add puts in a History are at most MaxError bytes of valid
//     UTF-8 without control characters: safe in a header and on a terminal.
//   - What AppendLetter writes ReadLetter reads back equal, and what follows it
//     untouched. The same holds for a History.
//   - Reading any bytes at all ends in a letter or an error, never in a panic,
//     and allocates no more than a small multiple of the bytes that are there.
//   - OlderThan and NewerThan with the same age split all letters in two: none
//     is in both, none in neither.
//   - A Plan never takes more than its limit, and in any span of time no more
//     than its rate allows plus one second's worth (the catching up of a caller
//     that came late) plus one. A letter that dies again while the plan runs is
//     behind its end, so a plan cannot chase its own tail.
//   - The counts of all Groups together are the letters added. Memory is bounded
//     by MaxGroups, however many causes there are.
//
// # What is assumed
//
//   - Times are int64 nanoseconds on one clock of the caller's choice, the one
//     that Letter.DiedAt was taken from. Nothing here reads a clock.
//   - A Letter is not changed once another goroutine can see it.
//   - Sequences begin at 1.
//   - A Filter and a Plan have passed Validate.
//   - The log guards its bytes by checksum. The codec finds what is malformed,
//     not what was altered into another well-formed letter.
//
// # What fails, and how
//
//   - ReadLetter and ReadHistory return an error that wraps ErrMalformed and
//     names the field that could not be read. There is no partial result.
//   - Validate refuses a filter or plan with one sentence naming field and value.
//   - UnmarshalJSON of a Filter refuses unknown fields: a misspelt field must not
//     become a filter that picks everything.
//   - A reason or outcome number without a word here (written by a newer version)
//     is kept, and shown as "reason(9)": an unknown word is no cause to refuse a
//     log.
//
// # The bytes
//
// Numbers are uvarints and times zigzag varints, as in encoding/binary. A string
// is its length, a uvarint, and its bytes.
//
//	letter   reason (1 byte) · error · died at · origin queue · origin subject ·
//	         origin seq · published at · attempts · replays · history
//	history  count (at most MaxHistory), then the attempts, oldest first
//	attempt  at − ended of the one before · ended − at · outcome (1 byte) ·
//	         worker · error
//
// A string of an attempt is written as its length + 1; a lone 0 stands for "the
// same as in the attempt before", as a message mostly fails the same way again.
package dlq
