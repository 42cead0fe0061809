// Registers the `simt` dialect.
#include "ir/simt/Simt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

#include "ir/simt/SimtDialect.cpp.inc"
#include "ir/simt/SimtEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/SimtAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/simt/SimtTypes.cpp.inc"

void SimtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/simt/SimtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/simt/SimtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/simt/SimtOps.cpp.inc"
      >();
}
