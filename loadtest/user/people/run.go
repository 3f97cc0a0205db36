package people

import "strconv"

func Name(seed uint64) string { return "t" + strconv.FormatUint(seed%(36*36*36*36), 36) }
