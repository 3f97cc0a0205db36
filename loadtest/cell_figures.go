package main

import (
	"fmt"
)

// key is the cell in the id of a figure.
func (c cell) key() string { return fmt.Sprintf(".%s.%d", c.Sync, c.Sessions) }

func (c cell) String() string {
	if c.Sessions == 1 {
		return "1 session, " + c.Sync
	}
	return fmt.Sprintf("%d sessions, %s", c.Sessions, c.Sync)
}
