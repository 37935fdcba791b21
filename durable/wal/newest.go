package wal

// Newest is the last generation; the zero value if there is none.
func (l *Log) Newest() Generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.gens) == 0 {
		return Generation{}
	}
	return l.gens[len(l.gens)-1].public()
}
