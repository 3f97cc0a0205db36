// Package child is what loadtest is when it starts itself: a floor's server, or the fake MCP server, in a process of its own.
package child

import (
	"context"
	"errors"
	"io"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
)

// Serve serves as the child that a command's name stands for; ok is false when it stands for none.
func Serve(ctx context.Context, name string, args []string, in io.Reader, out, errOut io.Writer) (ok bool, err error) {
	switch name {
	case fakemcp.Command:
		return true, fakemcp.Main(ctx, args, in, out, errOut)
	case floor.BusCommand:
		return true, floor.ServeBus(ctx, in, out)
	case floor.AppendCommand:
		return true, floor.ServeAppend(ctx, in, out)
	case floor.OpenCommand:
		return true, floor.ServeOpen(ctx, in, out)
	case floor.ScanCommand:
		return true, floor.ServeScan(ctx, in, out)
	case floor.WebCommand:
		if len(args) != 1 {
			return true, console.Usage(errors.New("want the model's URL"))
		}
		return true, floor.ServeWeb(ctx, args[0], in, out)
	}
	return false, nil
}
