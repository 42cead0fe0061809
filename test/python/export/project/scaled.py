import tilewright as tw


@tw.jit
def scaled(x, factor):
    return x * factor
