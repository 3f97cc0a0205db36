# Thin: each recipe is a line that can also be typed. What a change has to pass is .ci/run.

# list the recipes
default:
    @just --list --unsorted

# the daemon (jetclaw run)
run *ARGS:
    go run ./cmd/jetclaw run {{ARGS}}

# all tests
test:
    go test ./...

# the core under the race detector (needs a C compiler)
race:
    go test -race ./bus/... ./services/... ./cmd/internal/...

# golangci-lint, of the version that .golangci.yml names
lint:
    golangci-lint run ./...

# JSON Schemas and AsyncAPI from the Go types
gen:
    go run ./cmd/internal/gen

# fails when a generated file is not current
gen-check:
    go run ./cmd/internal/gen -check

# every fuzz target, each for TIME
fuzz TIME="5s":
    #!/usr/bin/env bash
    set -euo pipefail
    grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
        grep -oE '^func Fuzz[A-Za-z0-9]+' "$file" | while read -r _ target; do
            go test -run '^$' -fuzz "^$target\$" -fuzztime {{TIME}} "$(dirname "$file")" </dev/null
        done
    done

# the static, stripped binary
build:
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/jetclaw ./cmd/jetclaw

# latency and CPU of a turn, beside the floor of this machine
loadtest-turn *ARGS:
    go run ./loadtest turn {{ARGS}}

# a turn with a tool call, parked approvals, racing decisions
loadtest-tool *ARGS:
    go run ./loadtest tool {{ARGS}}

# kill -9 at random instants under load: nothing lost, doubled, out of order or stuck
loadtest-kill *ARGS:
    go run ./loadtest kill {{ARGS}}

# a Telegram bot under load, with kill -9 and trouble on the wire; --rate: how fast updates come in
loadtest-telegram *ARGS:
    go run ./loadtest telegram {{ARGS}}

# folding, checking, indexing and explaining a big journal, beside the floor
loadtest-replay *ARGS:
    go run ./loadtest replay {{ARGS}}

# calls of MCP servers, servers that nobody uses, dead ones, the commands that look at them; beside the floor
loadtest-mcp *ARGS:
    go run ./loadtest mcp {{ARGS}}

# MCP clients of jetclaw (jetclaw mcp serve): calls, events, start, memory, catching up after kill -9; beside the floor
loadtest-bridge *ARGS:
    go run ./loadtest bridge {{ARGS}}

# three NATS servers, two processes of every service, and whatever can go wrong for half an hour
chaos *ARGS:
    go run ./loadtest chaos {{ARGS}}

# turns on a NATS cluster by workers and copies; fail-over of workers and of NATS servers
loadtest-cluster *ARGS:
    go run ./loadtest cluster {{ARGS}}

# power cuts: what was not synced is gone (Linux, root, /dev/fuse); --full 3: a disk that fills up and is freed
loadtest-power *ARGS:
    go run ./loadtest power {{ARGS}}

# clocks of two processes are stepped by an hour under load; its first build compiles everything anew
loadtest-clock *ARGS:
    go run ./loadtest clock {{ARGS}}

# steady work for long: does anything grow without end?
loadtest-soak *ARGS:
    go run ./loadtest soak {{ARGS}}

# what sessions on the disk cost
loadtest-sizes *ARGS:
    go run ./loadtest sizes {{ARGS}}

# all figures of the design's table, with machine and date, into loadtest/RESULTS.md (a calm machine); --quick to stdout
report *ARGS:
    go run ./loadtest report {{ARGS}}

# random histories of all services for a while, in a simulation; prints the command of each that fails
sim FOR="10m":
    go test ./cmd/internal/sim -run 'TestSim$' -count=1 -v -timeout=0 -first="$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')" -for={{FOR}}

# what deploy/ holds, read by what reads it there (a module of its own)
deploy-check:
    cd deploy/check && go test -count=1 ./...

# tests against npm's programs (needs Node.js): a Telegram server, MCP servers and clients, the protocol's own conformance suite
test-peers WHICH="Peers":
    #!/usr/bin/env bash
    set -euo pipefail
    dir="$(mktemp -d)"
    trap 'rm -rf "$dir"' EXIT
    cp -r loadtest/peers/. "$dir"
    for part in . mcp; do
        (cd "$dir/$part" && npm ci --no-audit --no-fund --loglevel=error)
    done
    JETCLAW_PEERS="$dir" go test -tags peers -run '{{WHICH}}' -count=1 ./services/mcp/internal/conform ./services/bridge ./cmd/jetclaw/cli

# those of them that concern MCP
test-mcp-peers: (test-peers "PeersMCP|PeersConformance")

# what happens when the disk is full (Linux, root: mounts a small file system)
test-disk:
    go test -tags diskfull ./bus/natsembed

# all that a change has to pass
ci:
    bash .ci/run
