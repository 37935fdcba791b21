package durable

// fail ends the store from outside the loop.
func (s *Store) fail(err error) {
	_ = s.put(item{fail: err}) // refused only when it is ending already
}
