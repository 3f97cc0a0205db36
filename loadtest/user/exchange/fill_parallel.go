package exchange

const FillParallel = 64
