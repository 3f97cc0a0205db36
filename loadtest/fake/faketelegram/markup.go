package faketelegram

import "encoding/json"

const maxCallbackData = 64 // bytes

// readMarkup reads reply_markup. Only inline keyboards are looked into.
func readMarkup(arg string) (*markup, error) {
	if arg == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arg), &object); err != nil {
		if json.Valid([]byte(arg)) {
			return nil, bad("object expected as reply markup")
		}
		return nil, bad("can't parse reply keyboard markup JSON object")
	}
	raw, ok := object["inline_keyboard"]
	if !ok {
		if len(object) == 0 {
			return nil, nil //nolint:nilnil // an empty one is none
		}
		return &markup{other: json.RawMessage(arg)}, nil
	}
	var rows [][]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, bad(`field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`)
	}
	m := &markup{}
	for _, row := range rows {
		var buttons []Button
		for _, b := range row {
			button, err := readButton(b)
			if err != nil {
				return nil, err
			}
			buttons = append(buttons, button)
		}
		if len(buttons) > 0 {
			m.Inline = append(m.Inline, buttons)
		}
	}
	if len(m.Inline) == 0 {
		return nil, nil //nolint:nilnil // an empty one is none
	}
	return m, nil
}

func readButton(raw json.RawMessage) (Button, error) {
	const failed = "can't parse inline keyboard button: "
	var b Button
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, bad(failed + "InlineKeyboardButton must be an Object")
	}
	switch {
	case b.Text == "":
		return b, bad(failed + "Can't find field \"text\"")
	case b.CallbackData == "" && b.URL == "":
		return b, bad(failed + "Text buttons are unallowed in the inline keyboard")
	case len(b.CallbackData) > maxCallbackData:
		return b, bad("BUTTON_DATA_INVALID")
	}
	return b, nil
}
