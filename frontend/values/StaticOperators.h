// Python's operators on values known at compile time.
#ifndef FRONTEND_STATICOPERATORS_H
#define FRONTEND_STATICOPERATORS_H
#include "frontend/values/OperatorTable.h"
#include "frontend/values/OrReason.h"
#include "frontend/values/PyValue.h"

namespace tw {

OrReason<PyValue> staticBinary(BinaryOperator op, const PyValue &a, const PyValue &b);
OrReason<PyValue> staticUnary(UnaryOperator op, const PyValue &a);
OrReason<PyValue> staticCompare(Comparison op, const PyValue &a, const PyValue &b);

} // namespace tw
#endif
