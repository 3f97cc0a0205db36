package prompt

// Tokens estimates how many tokens a model counts for text, without its tokenizer and without knowing which model it is.
//
// Each byte has a weight: of a latin word about a quarter of a token for each four or five letters and one for what stands
// around it, digits nearly one each (many tokenizers split them), other scripts about one a character, emoji more. Where
// letters and digits go on without a break (base64, keys, minified data), tokenizers find no words, and the weight is that
// of random letters. Measured against four tokenizers the estimate is between 0.8 and 2 times the largest of them on
// prose, code and data, mostly a little above: a budget that is kept in estimates is kept in tokens.
func Tokens(text string) int {
	total := uint64(0)
	for len(text) > chunk {
		total += weigh(text[:chunk])
		text = text[chunk:]
	}
	total += weigh(text)
	return int((total + unit - 1) / unit)
}

const (
	unit  = 100 // weights are hundredths of a token
	chunk = 256 // bytes that are judged together

	// In a word of the table: the weight, then how many bytes can be part of a word, then how many end one.
	solidShift = 24
	breakShift = 40
	solid      = 1 << solidShift
	ends       = 1 << breakShift

	longWord    = 14 // letters and digits for each break, from which on nothing is prose
	randomByte  = 70 // what one of them weighs then
	fewestBytes = 40 // a single long word is no data
)

// weigh is the weight of at most chunk bytes.
func weigh(text string) uint64 {
	sum := uint64(0)
	for i := range len(text) {
		sum += weights[text[i]]
	}
	weight := sum & (solid - 1)
	letters, breaks := sum>>solidShift&(1<<(breakShift-solidShift)-1), sum>>breakShift
	if letters >= fewestBytes && letters > longWord*(breaks+1) {
		weight = max(weight, letters*randomByte)
	}
	return weight
}

// weights has for each byte its weight, and whether it is part of a word or ends one. The first byte of a character
// stands for all of it but what its other bytes weigh.
var weights = func() (w [256]uint64) {
	set := func(from, to int, weight uint64) {
		for b := from; b <= to; b++ {
			w[b] = weight
		}
	}
	const next = 25 // each further byte of a character, so that stray ones count too
	set(0x00, 0x1F, 60|ends)
	set('!', '~', 75|ends)
	set('a', 'z', 22|solid)
	set('A', 'Z', 40|solid)
	set('0', '9', 85|solid)
	set('\t', '\n', 60|ends)
	w[' '] = 22 | ends
	w['_'] = 50 | ends
	set(0x7F, 0x7F, 100)
	set(0x80, 0xBF, next)
	set(0xC0, 0xCD, 200-next)   // latin with accents
	set(0xCE, 0xCF, 125-next)   // greek
	set(0xD0, 0xD3, 75-next)    // cyrillic
	set(0xD4, 0xDF, 120-next)   // armenian, hebrew, arabic
	set(0xE0, 0xE0, 180-2*next) // indic scripts, thai
	set(0xE1, 0xE1, 250-2*next) // vietnamese, georgian, khmer
	set(0xE2, 0xE2, 150-2*next) // typographic signs, arrows, boxes
	set(0xE3, 0xE3, 110-2*next) // kana
	set(0xE4, 0xE9, 150-2*next) // chinese
	set(0xEA, 0xED, 150-2*next) // korean
	set(0xEE, 0xEF, 150-2*next)
	set(0xF0, 0xFF, 300-3*next) // emoji
	return w
}()
