package exchange

import (
	"fmt"
)

// Key is the cell in the id of a figure.
func (c Cell) Key() string { return fmt.Sprintf(".%s.%d", c.Sync, c.Sessions) }

func (c Cell) String() string {
	if c.Sessions == 1 {
		return "1 session, " + c.Sync
	}
	return fmt.Sprintf("%d sessions, %s", c.Sessions, c.Sync)
}
