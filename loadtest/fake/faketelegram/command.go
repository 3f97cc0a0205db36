package faketelegram

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

const (
	maxCommands    = 100
	maxDescription = 256
)

var commandForm = regexp.MustCompile(`^/?[a-z0-9_]{1,32}$`)

type command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// scope is the key of a list of commands.
func scope(q *query) (string, error) {
	kind := "default"
	if arg := q.args["scope"]; arg != "" {
		var o struct {
			Type string      `json:"type"`
			Chat json.Number `json:"chat_id"`
			User json.Number `json:"user_id"`
		}
		if err := json.Unmarshal([]byte(arg), &o); err != nil {
			return "", bad("can't parse BotCommandScope JSON object")
		}
		switch o.Type {
		case "default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators", "chat_member":
			kind = o.Type + " " + o.Chat.String() + " " + o.User.String()
		default:
			return "", bad("can't parse BotCommandScope: Unsupported type specified")
		}
		if o.Type == "default" {
			kind = o.Type
		}
	}
	return kind + "/" + q.args["language_code"], nil
}

func (s *Server) setMyCommands(q *query) (any, error) {
	var list []command
	if err := json.Unmarshal([]byte(orElse(q.args["commands"], "[]")), &list); err != nil {
		return nil, bad("can't parse commands JSON object")
	}
	key, err := scope(q)
	switch {
	case err != nil:
		return nil, err
	case len(list) > maxCommands:
		return nil, bad("BOT_COMMANDS_TOO_MUCH")
	}
	for i, c := range list {
		n := utf8.RuneCountInString(c.Description)
		switch {
		case !commandForm.MatchString(c.Command):
			return nil, bad("BOT_COMMAND_INVALID")
		case n < 1 || n > maxDescription:
			return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
		case c.Command[0] == '/':
			list[i].Command = c.Command[1:]
		}
	}
	q.bot.menus[key] = list
	return true, nil
}

func (s *Server) getMyCommands(q *query) (any, error) {
	key, err := scope(q)
	if err != nil {
		return nil, err
	}
	return append([]command{}, q.bot.menus[key]...), nil
}

func (s *Server) deleteMyCommands(q *query) (any, error) {
	key, err := scope(q)
	if err != nil {
		return nil, err
	}
	delete(q.bot.menus, key)
	return true, nil
}

// Commands are what a bot has set for everybody, by name: what they are said to do.
func (s *Server) Commands(name string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for _, c := range s.bot(name).menus["default/"] {
		out[c.Command] = c.Description
	}
	return out
}
