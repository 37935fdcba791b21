package admin

// margin is what an answer has beside the items of its page.
const margin = 4 << 10

// page gathers items until an answer has no room for another.
type page[T any] struct {
	items []T
	room  int
}

func newPage[T any](room int) *page[T] { return &page[T]{items: []T{}, room: room - margin} }

// add takes an item if there is room. The first one is always taken: what is too
// large by itself shows when the answer is sent.
func (p *page[T]) add(item T) bool {
	size := len(inline(item)) + 1
	if len(p.items) > 0 && size > p.room {
		return false
	}
	p.items, p.room = append(p.items, item), p.room-size
	return true
}
