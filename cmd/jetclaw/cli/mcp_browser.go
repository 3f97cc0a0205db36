package cli

import (
	"context"
	"net"
	"net/url"
	"os/exec"
	"runtime"
)

// browsable says whether an address may be given to a browser: it is https, or on this machine. A server has chosen it.
func browsable(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// openBrowser shows an address that is browsable, if this machine has a screen. It is a convenience: the address is printed as well.
func (f *mcpFile) openBrowser(ctx context.Context, address string) {
	var line []string
	switch runtime.GOOS {
	case "darwin":
		line = []string{"open", address}
	case "windows":
		line = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default: // without a screen xdg-open would start a browser in the terminal
		display, _ := f.s.lookup("DISPLAY")
		wayland, _ := f.s.lookup("WAYLAND_DISPLAY")
		if display == "" && wayland == "" {
			return
		}
		line = []string{"xdg-open", address}
	}
	// The browser outlives this command.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), line[0], line[1:]...) //nolint:gosec // the address is one argument, and begins with http
	if err := cmd.Start(); err != nil {
		f.e.Log.Debug("open a browser", "error", err)
		return
	}
	go func() { _ = cmd.Wait() }() // it may live as long as the browser; what it says is of no use
}
