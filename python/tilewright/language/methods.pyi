# The methods of tiles that are written in the language, for type checkers alone: `library` defines them.
from ..library.sorting import sort as sort, topk as topk
from ..library.tiles import (
    argmax as argmax, argmin as argmin, cumprod as cumprod, cumsum as cumsum, flip as flip,
    histogram as histogram, item as item, logical_and as logical_and, logical_or as logical_or,
    max as max, min as min, ravel as ravel, reduce_or as reduce_or, sigmoid as sigmoid,
    softmax as softmax, squeeze as squeeze, sum as sum, unsqueeze as unsqueeze, xor_sum as xor_sum,
)
