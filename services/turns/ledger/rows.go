package ledger

import (
	"cmp"
	"maps"
	"slices"
)

// By is what accounts are grouped by.
type By string

// The groupings. Total is one row of all.
const (
	ByDay     By = "day"
	ByModel   By = "model"
	BySession By = "session"
	ByAgent   By = "agent"
	Total     By = "total"
)

// Groupings are those that a person may ask for.
func Groupings() []By { return []By{ByDay, ByModel, BySession, ByAgent} }

// of is the row of the group that r belongs to, with nothing counted.
func (by By) of(r Row) Row {
	switch by {
	case ByDay:
		return Row{Day: r.Day}
	case ByModel:
		return Row{Model: r.Model}
	case BySession:
		return Row{Session: r.Session, Agent: r.Agent}
	case ByAgent:
		return Row{Agent: r.Agent}
	case Total:
		return Row{}
	}
	return Row{}
}

// Rows are the accounts by day, model, session or agent, in the order of these names. Total has one row, also when
// nothing was counted.
func (b *Book) Rows(by By) []Row {
	groups := map[Row]Row{}
	if by == Total {
		groups[Row{}] = Row{}
	}
	for _, r := range b.rows {
		group := by.of(r)
		sum, ok := groups[group]
		if !ok {
			sum = group
		}
		groups[group] = sum.plus(r)
	}
	return slices.SortedFunc(maps.Values(groups), func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Session, y.Session), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Model, y.Model))
	})
}

// Day is the account of a day and an agent; of all agents when it is "".
func (b *Book) Day(day, agent string) Row {
	if r, ok := b.days[span{day, agent}]; ok {
		return r
	}
	return Row{Day: day, Agent: agent}
}

// Unpriced are the models whose price was not known for some of the calls of a day and an agent, sorted.
func (b *Book) Unpriced(day, agent string) []string {
	models := map[string]bool{}
	for k, r := range b.rows {
		if k.day == day && (agent == "" || r.Agent == agent) && r.unknown() {
			models[k.model] = true
		}
	}
	return slices.Sorted(maps.Keys(models))
}

// unknown says whether the cost of any of it is not known.
func (r Row) unknown() bool { return r.Unpriced > 0 || r.Silent > 0 }
