package durable

import "dsend/durable/queue"

// reach is a part of a commit that was read at once: the deliveries of a backlog
// follow each other in the log, and one read serves many of them.
type reach struct {
	at   queue.Place
	data []byte
}

// maxGap is how many bytes that nobody asked for may be read between two
// messages.
const maxGap = 1 << 10

// message gives the message of the first of some deliveries.
func (r *reach) message(s *Store, speech []queue.Speech) (queue.Message, error) {
	place, size := speech[0].Place, speech[0].Size
	data := s.cache.get(place.Commit, place.Offset, size)
	if data == nil {
		data = r.cut(place, size)
	}
	if data == nil {
		var err error
		if r.data, err = s.fetch(place, span(speech)); err != nil {
			return queue.Message{}, err
		}
		r.at = place
		data = r.cut(place, size)
	}
	return decode(place, data)
}

// cut gives a message's bytes, if they were read already.
func (r *reach) cut(place queue.Place, size uint32) []byte {
	if place.Commit != r.at.Commit || place.Offset < r.at.Offset {
		return nil
	}
	from := uint64(place.Offset - r.at.Offset)
	to := from + uint64(size)
	if to > uint64(len(r.data)) {
		return nil
	}
	return r.data[from:to:to]
}

// span is how many bytes to read for the first of some deliveries and those that
// lie behind it. It is bounded as they are: see pieces.
func span(speech []queue.Speech) uint32 {
	first := speech[0].Place
	end := uint64(first.Offset) + uint64(speech[0].Size)
	for i := range speech[1:] {
		next := &speech[1+i]
		if next.Status != 0 {
			continue
		}
		at := uint64(next.Place.Offset)
		if next.Place.Commit != first.Commit || at < end || at > end+maxGap {
			break
		}
		end = at + uint64(next.Size)
	}
	return uint32(end - uint64(first.Offset))
}
