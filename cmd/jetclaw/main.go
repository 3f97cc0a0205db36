// Command jetclaw runs AI agents on a durable journal. See `jetclaw --help`.
package main

import (
	"context"
	"os"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:]))
}
