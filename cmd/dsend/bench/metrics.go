package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// metrics are those of Dsend that the bench looks at. They are 0 if they were not
// asked for.
type metrics struct {
	syncs float64 // of the log
}

// readMetrics asks a Dsend for its metrics; an empty url asks nobody.
func readMetrics(ctx context.Context, url string) (m metrics, err error) {
	if url == "" {
		return m, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return m, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return m, fmt.Errorf("metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return m, fmt.Errorf("metrics: %s answers %s", url, answer.Status)
	}
	wanted := map[string]*float64{"dsend_fsync_seconds_count": &m.syncs}
	found := 0
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if to := wanted[name]; to != nil {
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return m, fmt.Errorf("metrics: %s: %w", name, err)
			}
			found++
		}
	}
	if err := lines.Err(); err != nil {
		return m, fmt.Errorf("metrics: %w", err)
	}
	if found < len(wanted) {
		return m, fmt.Errorf("metrics: %s is not a Dsend", url)
	}
	return m, nil
}
