package jetstream

import (
	"maps"
	"slices"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

func (c *call) accountInfo() (any, error) {
	infos, err := c.store.Infos(c.ctx)
	if err != nil {
		return nil, err
	}
	stats := server.JetStreamAccountStats{
		Domain: c.cfg.Domain,
		API:    server.JetStreamAPIStats{Level: apiLevel, Total: c.total.Load(), Errors: c.errors.Load()},
	}
	stats.Limits = server.JetStreamAccountLimits{
		MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1,
		MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1,
	}
	for _, i := range infos {
		stats.Streams++
		stats.Consumers += i.Consumers
		stats.Store += uint64(i.Bytes)
	}
	return server.JSApiAccountInfoResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiAccountInfoResponseType}, JetStreamAccountStats: &stats,
	}, nil
}

// stream gives a queue as a stream.
func (c *call) stream(name string) (*server.StreamInfo, error) {
	i, err := c.store.Info(c.ctx, name)
	if err != nil {
		return nil, err
	}
	return c.streamOf(&i), nil
}

func (a *API) streamOf(i *queue.Info) *server.StreamInfo {
	return &server.StreamInfo{
		Config: a.streamConfig(i), Created: at(i.Created), State: streamState(i), Domain: a.cfg.Domain, TimeStamp: now(),
	}
}

func streamState(i *queue.Info) server.StreamState {
	s := server.StreamState{
		Msgs: uint64(i.Ready + i.Delayed + i.InFlight), Bytes: uint64(i.Bytes),
		FirstSeq: i.FirstSeq, LastSeq: i.LastSeq, Consumers: i.Consumers,
	}
	if s.Msgs == 0 {
		if i.LastSeq > 0 { // as a stream that was emptied
			s.FirstSeq = i.LastSeq + 1
		}
		return s
	}
	s.NumDeleted = int(i.LastSeq - i.FirstSeq + 1 - s.Msgs)
	s.FirstTime, s.LastTime = at(i.FirstAt), at(i.LastAt)
	return s
}

// maxDetails bounds the sequences and subjects that one answer tells of.
const maxDetails = 100_000

func (c *call) streamInfo() (any, error) {
	var req server.JSApiStreamInfoRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	i, err := c.store.Info(c.ctx, c.names[0])
	if err != nil {
		return nil, err
	}
	info := c.streamOf(&i)
	var paged server.ApiPaged
	if req.DeletedDetails {
		if info.State.Deleted, err = c.deleted(&i); err != nil {
			return nil, err
		}
	}
	if req.SubjectsFilter != "" {
		if info.State.Subjects, paged, err = c.subjects(&i, &req); err != nil {
			return nil, err
		}
	}
	return server.JSApiStreamInfoResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamInfoResponseType}, ApiPaged: paged, StreamInfo: info,
	}, nil
}

// maxCounted bounds the messages whose subjects are counted for one answer: a
// queue does not know them without its bodies.
const maxCounted = 10_000

// subjects counts the messages of each subject that a filter picks, a page of
// them.
func (c *call) subjects(i *queue.Info, req *server.JSApiStreamInfoRequest) (map[string]uint64, server.ApiPaged, error) {
	if stored := i.Ready + i.Delayed + i.InFlight; stored > maxCounted {
		return nil, server.ApiPaged{}, refuse(server.JSStreamInfoMaxSubjectsErr,
			"subjects_filter: %d messages are too many to count their subjects, which is done up to %d", stored, maxCounted)
	}
	counts := map[string]uint64{}
	err := c.eachEntry(i.Name, i.FirstSeq, func(e *queue.Entry) error {
		m, found, err := c.matches(e, req.SubjectsFilter)
		if found {
			counts[string(m.Subject)]++
		}
		return err
	})
	if err != nil {
		return nil, server.ApiPaged{}, err
	}
	names, paged := page(slices.Sorted(maps.Keys(counts)), req.Offset, maxDetails)
	some := make(map[string]uint64, len(names))
	for _, name := range names {
		some[name] = counts[name]
	}
	return some, paged, nil
}

// eachEntry walks the messages of a queue from a sequence on, until fn fails.
func (c *call) eachEntry(name string, from uint64, fn func(*queue.Entry) error) error {
	for {
		entries, err := c.store.List(c.ctx, queue.List{Queue: name, From: from, Limit: listLimit})
		if err != nil {
			return err
		}
		for i := range entries {
			if err := fn(&entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < listLimit {
			return nil
		}
		from = entries[len(entries)-1].Seq + 1
	}
}

// deleted are the sequences between the first and the last that are gone.
func (c *call) deleted(i *queue.Info) ([]uint64, error) {
	var gone []uint64
	next := i.FirstSeq
	err := c.eachEntry(i.Name, next, func(e *queue.Entry) error {
		gone = between(gone, next, min(e.Seq, i.LastSeq+1))
		next = e.Seq + 1
		return nil
	})
	if next > 0 {
		gone = between(gone, next, i.LastSeq+1)
	}
	return gone, err
}

// between appends the numbers from a first one on and below an end, as many as
// may be told.
func between(list []uint64, from, end uint64) []uint64 {
	for ; from < end && len(list) < maxDetails; from++ {
		list = append(list, from)
	}
	return list
}

// listed gives the queues whose subjects a filter overlaps with; an empty one
// all.
func (c *call) listed(filter string) ([]queue.Info, error) {
	infos, err := c.store.Infos(c.ctx)
	if err != nil || filter == "" {
		return infos, err
	}
	var found []queue.Info
	for _, i := range infos {
		if c.captures(&i, filter) {
			found = append(found, i)
		}
	}
	return found, nil
}

func (a *API) captures(i *queue.Info, filter string) bool {
	for _, subject := range append([]string{a.publishSubject(i.Name)}, i.Settings.Subjects...) {
		if queue.Overlap(subject, filter) {
			return true
		}
	}
	return false
}

func (c *call) streamList() (any, error) {
	var req server.JSApiStreamListRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	infos, err := c.listed(req.Subject)
	if err != nil {
		return nil, err
	}
	some, paged := page(infos, req.Offset, server.JSApiListLimit)
	streams := make([]*server.StreamInfo, 0, len(some))
	for i := range some {
		streams = append(streams, c.streamOf(&some[i]))
	}
	return server.JSApiStreamListResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamListResponseType}, ApiPaged: paged, Streams: streams,
	}, nil
}

func (c *call) streamNames() (any, error) {
	var req server.JSApiStreamNamesRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	infos, err := c.listed(req.Subject)
	if err != nil {
		return nil, err
	}
	some, paged := page(infos, req.Offset, server.JSApiNamesLimit)
	names := make([]string, 0, len(some))
	for _, i := range some {
		names = append(names, i.Name)
	}
	return server.JSApiStreamNamesResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamNamesResponseType}, ApiPaged: paged, Streams: names,
	}, nil
}
