# What a fresh machine needs is Go; the rest is optional and said where it is missing.

GO      ?= go

TIMEOUT ?= 20m

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./dsend
	$(GO) build -trimpath -o dsend ./cmd/dsend

.PHONY: run
run: build ## Run the queues here: NATS on 127.0.0.1:4222, data in ./dsend-data
	./dsend serve

.PHONY: test
test: ## Run all tests with the race detector, and print what clients can do
	$(GO) vet ./...
	@# -count=1: many tests build ./cmd/dsend themselves, which go's cache of results does not know
	$(GO) test -race -count=1 -timeout $(TIMEOUT) ./...; code=$$?; cat .cache/clients.txt 2>/dev/null; exit $$code

.PHONY: check
check: ## Format, vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'not gofmt-ed'; exit 1; }
	$(GO) vet ./...
	$(GO) -C .ci/tools build -o ../../.cache/bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	.cache/bin/staticcheck ./...

.PHONY: storm
storm: ## The long forms: a million model steps, 500 kills, 5,000 power cuts, every error; a table at the end
	@mkdir -p .cache
	TEST_STORM=1 $(GO) test -v -count=1 -timeout 12h ./... > .cache/storm.log 2>&1; code=$$?; \
	grep -E '^(FAIL|ok|--- FAIL)' .cache/storm.log; \
	echo 'fault                                          |  count | lost | undone | invented | damaged | failed |'; \
	sed -n 's/^ *storm table | //p' .cache/storm.log; echo 'all of it is in .cache/storm.log'; exit $$code

.PHONY: bench
bench: build ## Measure beside an echo and JetStream, up to 20 minutes; BENCH=--short takes one. Writes BENCHMARKS.md
	./dsend bench compare $(BENCH) --write cmd/dsend/bench/BENCHMARKS.md

.PHONY: bench-backlog
bench-backlog: ## With much that waits: publish rate, and how long publishes wait for compaction
	$(GO) test -run '^$$' -bench 'Backlog' -benchtime 1x -timeout 2h ./durable/... ./cmd/dsend/...

.PHONY: bench-recovery
bench-recovery: ## Start after kill -9 with 3 and 10 million messages, beside JetStream: time and memory; 15 minutes
	$(GO) test -run '^$$' -bench 'Recovery' -benchtime 1x -timeout 2h ./cmd/dsend/recovery

.PHONY: clean
clean: ## Remove what was built (not the data)
	rm -f dsend
