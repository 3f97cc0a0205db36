package daily

import (
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/services/turns/ledger"
	"github.com/jetclaw/jetclaw/services/turns/money"
)

// Budget is what may be used in one UTC day; 0 is no limit.
type Budget struct {
	Tokens int
	Money  int64 // billionths of a US dollar
}

func (b Budget) any() bool { return b.Tokens > 0 || b.Money > 0 }

// Budgets are those of all agents together, and of each.
type Budgets struct {
	Budget
	Agents map[string]Budget
}

// Any says whether anything is limited at all.
func (b Budgets) Any() bool {
	for _, of := range b.Agents {
		if of.any() {
			return true
		}
	}
	return b.any()
}

func (b Budgets) limited(agent string) bool { return b.any() || b.Agents[agent].any() }

// scope is one budget and whom it is for.
type scope struct {
	Budget
	agent string // "": all together
	whose string // for a person
	path  string // in jetclaw.yaml
}

func (b Budgets) scopes(agent string) []scope {
	return []scope{
		{Budget: b.Agents[agent], agent: agent, whose: "of the agent " + agent, path: "agents." + agent + ".budget"},
		{Budget: b.Budget, whose: "of all agents", path: "budget"},
	}
}

const unread = "The accounts of today are being read, so that a budget cannot be checked yet. Please try again in a moment."

// check says what is used up, or "".
func (s scope) check(book *ledger.Book, day string, now time.Time) string {
	if !s.any() {
		return ""
	}
	used := book.Day(day, s.agent)
	unknown := used.Unpriced > 0 || used.Silent > 0
	switch {
	case s.Money > 0 && used.Cost >= s.Money:
		return s.over(money.Dollars(used.Cost)+" of "+money.Dollars(s.Money)+" are used", s.path+".money", now)
	case s.Tokens > 0 && used.Tokens() >= s.Tokens:
		return s.over(fmt.Sprintf("%d of %d tokens are used", used.Tokens(), s.Tokens), s.path+".tokens", now)
	case s.Money > 0 && unknown:
		return s.unpriced(used, book.Unpriced(day, s.agent), now)
	}
	return ""
}

func (s scope) over(used, path string, now time.Time) string {
	return fmt.Sprintf("The budget of today %s is used up: %s. It begins anew at %s. To go on today, raise %s in jetclaw.yaml.",
		s.whose, used, anew(now), path)
}

// unpriced is told when money is limited and nobody knows how much was used.
func (s scope) unpriced(used ledger.Row, models []string, now time.Time) string {
	why := fmt.Sprintf("the price of %s is not known", strings.Join(models, ", "))
	how := fmt.Sprintf("add it to models.prices in jetclaw.yaml and start jetclaw again, or remove %s.money to go on today", s.path)
	if used.Unpriced == 0 {
		why = fmt.Sprintf("%s did not say how many tokens it used", strings.Join(models, ", "))
		how = fmt.Sprintf("use another model, or remove %s.money to go on today; if it is free, say so in models.prices", s.path)
	}
	return fmt.Sprintf("Whether the budget of today %s (%s) is used up cannot be said: %s. It is taken as used up until %s. To change that, %s.",
		s.whose, money.Dollars(s.Money), why, anew(now), how)
}

// anew is when the next day begins.
func anew(now time.Time) string {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Format("2006-01-02 15:04 UTC")
}
