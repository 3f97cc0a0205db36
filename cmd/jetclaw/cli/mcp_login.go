package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpLogin() *cobra.Command {
	var code string
	var noBrowser bool
	c := &cobra.Command{
		Use:   "login NAME",
		Short: "Authorize an MCP server with OAuth",
		Long: `Prints an address to open in a browser, where you allow jetclaw to use the server, and waits until the browser comes back; at most
ten minutes. When the browser runs on another machine it cannot come back: copy the address that it ends at, or the code in it, and
paste it here or give it to another jetclaw mcp login NAME --code.`,
		Example: "  jetclaw mcp login docs\n  jetclaw mcp login docs --no-browser\n  jetclaw mcp login docs --code abc123",
		Args:    oneServer,
		RunE: s.mcpRun(nil, func(ctx context.Context, args []string) error {
			f, err := s.mcpOpen("login")
			if err != nil {
				return err
			}
			d, err := f.get(args[0])
			if err != nil {
				return err
			}
			if d.Auth != "oauth" || d.URL == "" {
				return &mcpRefusal{fmt.Sprintf("MCP server %q is not configured with auth: \"oauth\".", args[0])}
			}
			if code != "" {
				a, err := typedCode(code)
				if err != nil {
					return usagef("--code %s", err)
				}
				return f.authorize(ctx, args[0], a)
			}
			return f.login(ctx, args[0], d, noBrowser)
		}),
	}
	c.Flags().StringVar(&code, "code", "", "the `code`, or the whole address, that the browser ended at")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address")
	noCompletion(c, "code")
	c.ValidArgsFunction = s.completeServer
	return c
}

const (
	loginTime  = 10 * time.Minute // for a person in a browser
	oauthTime  = time.Minute      // for what the authorization server is asked
	longestURL = 8 << 10
)

// ask asks the MCP service of the running jetclaw, or of this process.
func ask[Res any](ctx context.Context, e app.Env, verb string, request any) (Res, error) {
	var got Res
	ctx, cancel := context.WithTimeout(ctx, oauthTime)
	defer cancel()
	err := e.WithMCP(ctx, func(ctx context.Context, c app.Client) (err error) {
		got, err = bus.Ask[Res](ctx, c.Conn, mcp.Name, verb, request)
		return err
	})
	return got, err
}

// login begins a login, waits for the browser, and ends it. While a person is in the browser nothing of the home is held, so that
// the code can also be given to another command.
func (f *mcpFile) login(ctx context.Context, name string, d definition.Definition, noBrowser bool) error {
	configured := ""
	if d.OAuth != nil {
		configured = d.OAuth.RedirectURL
	}
	back, err := listenForCode(ctx, configured)
	if err != nil {
		return err
	}
	defer back.close()
	begun, err := ask[mcp.Login](ctx, f.e, mcp.LoginVerb, mcp.LoginRequest{Server: name, Redirect: back.url})
	if err != nil {
		return err
	}
	if !browsable(begun.URL) || len(begun.URL) > longestURL {
		return errors.New("the server names an address for the login that is neither https nor on this machine; nothing was opened")
	}
	back.expect(begun.State)
	fmt.Fprintf(f.s.err, "Open this address in a browser to authorize %q:\n", name)
	if _, err := fmt.Fprintln(f.s.out, forTerminal(begun.URL)); err != nil {
		return err
	}
	if !noBrowser && f.s.outTTY && f.s.errTTY {
		f.openBrowser(ctx, begun.URL)
	}
	if back.waits() {
		fmt.Fprintf(f.s.err, "Waiting for the browser to come back to %s.\n", back.url)
	} else if back.trouble != "" {
		fmt.Fprintf(f.s.err, "note: %s\n", back.trouble)
	}
	fmt.Fprintf(f.s.err, "If it cannot, copy the address that it ends at, or the code in it, and run: jetclaw mcp login %s --code <code>\n", name)
	if !back.waits() && !f.s.inTTY {
		return nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("nobody has authorized %q within %s; run the login again", name, loginTime))
	defer cancel()
	answer, err := back.wait(wait, f.s.typedAnswers())
	if err != nil {
		return err
	}
	return f.authorize(ctx, name, answer)
}

// typedAnswers are the lines that a person types, if there is one. The reader lives until the process ends: a read of a terminal
// cannot be called off.
func (s *shell) typedAnswers() <-chan string {
	if !s.inTTY {
		return nil
	}
	fmt.Fprintln(s.err, "Or paste it here:")
	lines := make(chan string)
	go func() {
		in := bufio.NewScanner(io.LimitReader(s.in, 1<<20))
		in.Buffer(nil, 2*longestURL)
		for in.Scan() {
			lines <- in.Text()
		}
	}()
	return lines
}

// oauthAnswer is what the browser brings back.
type oauthAnswer struct{ code, state, issuer string }

// longestCode bounds a code, in bytes.
const longestCode = 4 << 10

// typedCode reads a code that a person has copied, or the whole address with it.
func typedCode(text string) (oauthAnswer, error) {
	text = strings.TrimSpace(text)
	a := oauthAnswer{code: text}
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		u, err := url.Parse(text)
		if err != nil {
			return a, errors.New("is no address that can be read")
		}
		q := u.Query()
		if q.Get("code") == "" {
			return a, errors.New("is an address without a code; log in again and copy the one that the browser ends at")
		}
		a = oauthAnswer{code: q.Get("code"), state: q.Get("state"), issuer: q.Get("iss")}
	}
	if a.code == "" || len(a.code) > longestCode || strings.ContainsFunc(a.code, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return a, errors.New("is no code: it is a word of at most 4096 letters, digits and signs")
	}
	return a, nil
}

// authorize ends a login.
func (f *mcpFile) authorize(ctx context.Context, name string, a oauthAnswer) error {
	f.e.Secrets.Add(a.code)
	got, err := ask[mcp.Authorized](ctx, f.e, mcp.CodeVerb, mcp.CodeRequest{Server: name, Code: a.code, State: a.state, Issuer: a.issuer})
	if err != nil {
		return err
	}
	if !got.AuthStatus.HasTokens {
		return fmt.Errorf("the server has given no token: %s", describeAuth(&got.AuthStatus))
	}
	_, err = fmt.Fprintf(f.s.out, "MCP server %q is authorized.\n", name)
	return err
}

func (s *shell) mcpLogout() *cobra.Command {
	c := &cobra.Command{
		Use:     "logout NAME",
		Short:   "Remove the stored OAuth credentials of an MCP server",
		Long:    "Removes the stored OAuth credentials of an HTTP server; the server stays configured.",
		Example: "  jetclaw mcp logout docs",
		Args:    oneServer,
		RunE: s.mcpRun(nil, func(ctx context.Context, args []string) error {
			f, err := s.mcpOpen("logout")
			if err != nil {
				return err
			}
			d, err := f.get(args[0])
			if err != nil {
				return err
			}
			if d.URL == "" {
				return &mcpRefusal{fmt.Sprintf("MCP server %q needs a valid HTTP transport for OAuth logout.", args[0])}
			}
			if _, err := ask[mcp.Authorized](ctx, f.e, mcp.LogoutVerb, mcp.LogoutRequest{Server: args[0]}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "MCP OAuth credentials cleared for %q.\n", args[0])
			return err
		}),
	}
	c.ValidArgsFunction = s.completeServer
	return c
}
