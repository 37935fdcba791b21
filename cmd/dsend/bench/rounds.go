package bench

import "slices"

// Spread is what the rounds of a comparison gave.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return Spread{}
	}
	return Spread{s[0], (s[(len(s)-1)/2] + s[len(s)/2]) / 2, s[len(s)-1]}
}

// ratios divides what two contenders gave, round by round.
func ratios(of, by []Result, value func(Result) float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = value(of[i]) / value(by[i])
	}
	return all
}

func medianOf(results []Result, value func(Result) float64) float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = value(r)
	}
	return spreadOf(values).Median
}

func publishRate(r Result) float64 { return r.PublishRate }
func deliverRate(r Result) float64 { return r.DeliverRate }
func publishP50(r Result) float64  { return float64(r.Publish.P50) }
func publishP99(r Result) float64  { return float64(r.Publish.P99) }
func deliverP50(r Result) float64  { return float64(r.Deliver.P50) }
