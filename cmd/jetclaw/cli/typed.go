package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

const conversationHelp = `/new            begin afresh; /reset is the same
/new keep       begin afresh with a summary of what was said
/compact        replace what was said by a summary
/model [MODEL]  say which model answers, or choose one for this session
/queue [MODE]   say or choose what messages during an answer do: followup, collect, steer, interrupt
/status         say what is going on
/approve [ID] [always]
                let run what waits for it; y does it, too, or a for always
/deny [ID] [REASON]
                do not let it run; n does it, too
/stop           stop an answer, and drop what waits (as Ctrl-C does)
/quit           leave
/help           this
All else is for the agent.`

// sessionCommands are taken by the gate, which says what may follow them; what they lead to is told by the journal.
var sessionCommands = map[string]bool{ //nolint:gochecknoglobals // constants
	"/new": true, "/reset": true, "/compact": true, "/model": true, "/queue": true, "/status": true,
	"/approve": true, "/deny": true,
}

// slashWord is what is meant as a command: a path has a second slash.
var slashWord = regexp.MustCompile(`^/[\pL\d_?-]*(\s|$)`)

// typed does what a line says. done ends the conversation.
func (c *conversation) typed(ctx context.Context, line string) (done bool, err error) {
	c.prompted = false
	if c.editor != nil {
		c.editor.entered()
	}
	c.stream.end()
	switch word := strings.TrimRight(line, " \t\n"); word {
	case "":
		c.prompt()
	case "/quit", "/exit":
		return true, c.leave()
	case "/help", "/?":
		fmt.Fprintln(c.err, conversationHelp)
		c.prompt()
	case "/stop":
		if len(c.open) == 0 {
			fmt.Fprintln(c.err, "there is nothing to stop")
			c.prompt()
			return false, nil
		}
		return false, c.stop(ctx)
	default:
		if d, ok := answerOf(word); ok && c.ask.takes() {
			return false, c.answer(ctx, d)
		}
		if command, _, _ := strings.Cut(word, " "); sessionCommands[command] {
			return c.send(ctx, word)
		}
		if slashWord.MatchString(word) {
			fmt.Fprintf(c.err, "there is no command %s; /help lists them. Nothing was sent (a line that begins with a space is)\n",
				strings.Fields(word)[0])
			c.prompt()
			return false, nil
		}
		return c.send(ctx, line)
	}
	return false, nil
}

func (c *conversation) send(ctx context.Context, text string) (done bool, err error) {
	receipt, err := c.say(ctx, text)
	if err != nil {
		return ctx.Err() != nil, c.asked(err)
	}
	c.mine[receipt.MessageID] = true
	if receipt.Status == "pending" {
		c.open[receipt.MessageID] = true
	}
	c.last, c.longTold = receipt.Cursor, false
	c.long.Reset(longWait)
	return false, nil
}

func (c *conversation) stop(ctx context.Context) error {
	c.stopping = true
	return c.asked(c.command(ctx, messagev1.Stop))
}

// asked tells how a request ended: what it leads to is told by the journal. What asked returns ends the conversation.
func (c *conversation) asked(err error) error {
	if errors.Is(err, errUnsure) {
		return err
	}
	if err != nil {
		fmt.Fprintln(c.err, err)
		c.prompt()
	}
	return nil
}
