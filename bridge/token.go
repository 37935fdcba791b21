package bridge

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
)

// A token proves that whoever answers a delivery got it. It is one block of
// AES under the store's own secret, so that 16 bytes are their own proof:
// nobody without the secret can make a block that decrypts to the numbers in
// the subject around it, and a token for one message is of no use for another.
//
//	bit 0     the delivery was pushed
//	bit 1-31  number of the queue, never given to another one, mixed with the names
//	          of queue and consumer in the subject: permissions by these names hold
//	48 bits   number of the message in the queue
//	48 bits   number of the delivery in the queue
//
// It outlives restarts as the secret does.
type delivery struct {
	pushed  bool
	queueID uint32
	seq     uint64
	number  uint64
}

const pushedBit = 1 << 31

type tokens struct {
	block cipher.Block
	hash  string // stands for the account in reply subjects
}

func newTokens(key [16]byte) tokens {
	block, err := aes.NewCipher(key[:])
	if err != nil { // 16 bytes are a key
		panic(err)
	}
	var mark [16]byte
	block.Encrypt(mark[:], mark[:])
	return tokens{block, base64.RawURLEncoding.EncodeToString(mark[:6])}
}

var encoding = base64.RawURLEncoding

func (t tokens) append(dst []byte, d delivery, mix uint32) []byte {
	var b [aes.BlockSize]byte
	id := d.queueID ^ mix
	if d.pushed {
		id |= pushedBit
	}
	binary.BigEndian.PutUint32(b[:], id)
	put48(b[4:], d.seq)
	put48(b[10:], d.number)
	t.block.Encrypt(b[:], b[:])
	return encoding.AppendEncode(dst, b[:])
}

// scope mixes the names of queue and consumer into 31 bits (FNV-1a).
func scope[T string | []byte](queue, consumer T) uint32 {
	h := uint32(2166136261)
	for i := range len(queue) {
		h = (h ^ uint32(queue[i])) * 16777619
	}
	h = (h ^ '.') * 16777619
	for i := range len(consumer) {
		h = (h ^ uint32(consumer[i])) * 16777619
	}
	return h &^ pushedBit
}

func put48(b []byte, v uint64) {
	binary.BigEndian.PutUint16(b, uint16(v>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(v))
}

func get48(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// errForged is returned for a reply subject that no delivery had.
var errForged = errors.New("no delivery had this reply subject")

// Tokens of the reply subject of a delivery:
//
//	0   1   2     3      4     5        6       7   8        9    10      11
//	$JS.ACK.dsend.<hash>.queue.consumer.attempt.seq.delivery.time.pending.token
const (
	atQueue    = 4
	atConsumer = 5
	atSeq      = 7
	atDelivery = 8
	atToken    = 11
	parts      = 12
)

// read finds the delivery of a reply subject.
func (t tokens) read(subject []byte) (d delivery, err error) {
	var part [parts][]byte
	n := 0
	for start, i := 0, 0; i <= len(subject); i++ {
		if i < len(subject) && subject[i] != '.' {
			continue
		}
		if n == parts {
			return d, errForged
		}
		part[n] = subject[start:i]
		start = i + 1
		n++
	}
	var b [aes.BlockSize]byte
	if n != parts || encoding.DecodedLen(len(part[atToken])) != len(b) {
		return d, errForged
	}
	if _, err := encoding.Decode(b[:], part[atToken]); err != nil {
		return d, errForged
	}
	t.block.Decrypt(b[:], b[:])
	id := binary.BigEndian.Uint32(b[:])
	mix := scope(part[atQueue], part[atConsumer])
	d = delivery{id&pushedBit != 0, id&^pushedBit ^ mix, get48(b[4:]), get48(b[10:])}
	if !says(part[atSeq], d.seq) || !says(part[atDelivery], d.number) {
		return delivery{}, errForged
	}
	return d, nil
}

// consumerIn is the consumer in a reply subject that read has proven.
func consumerIn(subject []byte) string {
	return string(bytes.Split(subject, []byte{'.'})[atConsumer])
}

func says(part []byte, v uint64) bool {
	n, err := strconv.ParseUint(string(part), 10, 64)
	return err == nil && n == v
}
