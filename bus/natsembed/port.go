package natsembed

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// probePort tries the address before the server does: its own error does not say who is there.
func probePort(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err == nil {
		return l.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s:%d: %w", host, port, err)
	}
	who := PortOwner(net.JoinHostPort(host, strconv.Itoa(port)))
	if who == "" {
		who = "another process (`ss -ltnp` or `lsof -i` names it)"
	}
	return fmt.Errorf("%w: %s:%d is used by %s; stop it or choose another port", ErrPort, host, port, who)
}

// PortOwner names the process that listens on a TCP address ("process 4711 (caddy)"), or is "" when that cannot be found
// out: on another system than Linux, or when it is another user's.
func PortOwner(addr string) string {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return ""
	}
	return portOwner(port)
}
