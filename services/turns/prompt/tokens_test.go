package prompt_test

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/prompt"
)

// TestTokens compares with counts of real tokenizers: most is the largest, least the smallest count of cl100k_base, o200k_base
// and those of Claude 2 and Llama 3.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		least, most int
	}{
		{"nothing", "", 0, 0},
		{"words", "hello world", 2, 2},
		{"sentence", "The quick brown fox jumps over the lazy dog.", 10, 10},
		{"a long word", "antidisestablishmentarianism", 6, 7},
		{"sum", "2 + 2 = 4", 5, 7},
		{"german", "Die Geschwindigkeitsbegrenzung auf der Autobahn wurde aufgehoben, weil die Bauarbeiten früher als erwartet abgeschlossen " +
			"werden konnten. Bitte überweisen Sie den ausstehenden Betrag bis zum Ende des Monats auf das unten angegebene Konto.", 47, 73},
		{"polish", "Wczoraj wieczorem poszliśmy na spacer wzdłuż rzeki, ponieważ pogoda była wyjątkowo piękna, a jutro ma znowu padać deszcz.", 42, 59},
		{"russian", "Вчера вечером мы гуляли вдоль реки, потому что погода была необыкновенно хорошая, а завтра опять обещают дождь.", 31, 60},
		{"arabic", "مشينا أمس مساء على ضفة النهر لأن الطقس كان جميلا جدا وغدا سوف تمطر مرة أخرى.", 25, 71},
		{"hindi", "कल शाम हम नदी के किनारे टहलने गए क्योंकि मौसम बहुत सुहावना था और कल फिर बारिश होगी।", 25, 86},
		{"chinese", "昨天晚上我们沿着河边散步,因为天气特别好,明天又要下雨了。请在本月底之前将款项汇到下面的账户。", 37, 58},
		{"japanese", "昨日の夕方、天気がとても良かったので川沿いを散歩しました。明日はまた雨が降るそうです。", 31, 48},
		{"korean", "어제 저녁에 날씨가 아주 좋아서 강가를 산책했습니다. 내일은 다시 비가 온다고 합니다.", 27, 51},
		{"emoji", "😀🎉👍🏽👨‍👩‍👧‍👦🚀🔥❤️🇩🇪", 25, 44},
		{"ids", "3f2b8c1e-9d47-4a6b-8e15-7c0d2f9ab134\n0b6e4d2a-17c3-4f98-b2d5-e8a1c73f5096", 61, 63},
		{"table", "id,name,price,qty\n1,Apple,0.50,12\n2,Banana,0.25,40\n3,Cherry,3.99,7\n4,Date,7.20,103\n5,Elderberry,11.00,2\n", 58, 62},
		{"log", "2026-11-30T05:20:50.123Z INFO main.telegram.mybot.12345 turn.completed id=01J9ZK3M4Q cursor=184467 tokens=1234 took=1.23s\n" +
			"2026-11-30T05:20:51.004Z WARN server \"files\" paused for 60s: connection refused (127.0.0.1:8080)", 91, 92},
	} {
		got := prompt.Tokens(c.text)
		if float64(got) < 0.7*float64(c.most) {
			t.Errorf("%s: %d is less than 0.7 × %d: budgets are not safe", c.name, got, c.most)
		}
		if float64(got) > 1.6*float64(c.most) {
			t.Errorf("%s: %d is more than 1.6 × %d: half a window would stay empty", c.name, got, c.most)
		}
	}
}

// What has no words costs several times what prose of the same length does.
func TestTokensOfWhatHasNoWords(t *testing.T) {
	random := func(alphabet string) string {
		var b strings.Builder
		for i, x := 0, uint32(1); i < 2000; i++ {
			x = x*1664525 + 1013904223
			b.WriteByte(alphabet[int(x>>16)%len(alphabet)])
		}
		return b.String()
	}
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	for _, c := range []struct {
		name, alphabet string
		most           int // that one of the four tokenizers counts for 2,000 bytes
	}{
		{"base64", lower + upper + digits + "+/", 1374},
		{"hex", digits + "abcdef", 1112},
		{"letters", lower, 1100},
		{"capitals", upper, 1196},
		{"digits", digits, 834},
		{"signs", `!@#$%^&*(){}[];:'",.<>/?\|~-=+`, 1211},
	} {
		if got := prompt.Tokens(random(c.alphabet)); got < c.most*9/10 || got > c.most*5/2 {
			t.Errorf("%s: %d, counted were %d", c.name, got, c.most)
		}
	}
	if got := prompt.Tokens(strings.Repeat("\x80\xff", 100)); got < 50 {
		t.Errorf("bytes that are no text: %d", got)
	}
}

// A whole costs what its parts do, give or take: budgets are added up.
func TestTokensAddUp(t *testing.T) {
	part := "The committee met on Thursday to discuss the proposal. "
	whole, parts := prompt.Tokens(strings.Repeat(part, 200)), 200*prompt.Tokens(part)
	if whole > parts || whole < parts*9/10 {
		t.Errorf("200 parts are %d, the whole %d", parts, whole)
	}
}
