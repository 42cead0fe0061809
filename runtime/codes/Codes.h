// The names of the codes of reports.
#ifndef RUNTIME_CODES_CODES_H
#define RUNTIME_CODES_CODES_H
#include "runtime/codes/Code.h"

namespace tw {

enum class Code : int {
#define TW_CODE(number, name, ...) name = number,
#include "runtime/codes/Codes.def"
#undef TW_CODE
};
static_assert(kUncoded == Code::Uncoded);

} // namespace tw
#endif
