package files

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func (k *kit) clock(_ context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Zone string `json:"zone"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	now := k.now()
	if args.Zone != "" && args.Zone != "Local" {
		zone, err := time.LoadLocation(args.Zone)
		if err != nil {
			return tool.Result{}, tool.Refuse("the time zone %s is not known here; use an IANA name such as Europe/Berlin", show(args.Zone))
		}
		now = now.In(zone)
	}
	year, week := now.ISOWeek()
	abbreviation, _ := now.Zone()
	return tool.Result{Text: fmt.Sprintf("%s, %s, week %d-W%02d, zone %s (%s), unix %d",
		now.Format(time.RFC3339), now.Weekday(), year, week, now.Location(), abbreviation, now.Unix())}, nil
}
