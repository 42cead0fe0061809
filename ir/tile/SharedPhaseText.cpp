// Reads and writes the text of SharedPhase.
#include "ir/tile/SharedPhaseText.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace tw;

FailureOr<SharedPhase> FieldParser<SharedPhase>::parse(AsmParser &parser) {
  SharedPhase phase;
  StringRef use;
  SmallVector<uint8_t> lanes;
  auto parseLane = [&] { return parser.parseInteger(lanes.emplace_back()); };
  llvm::SMLoc start = parser.getCurrentLocation();
  if (parser.parseKeyword(&use) || parser.parseInteger(phase.accessBytes) ||
      parser.parseKeyword("over") || parser.parseInteger(phase.numBanks) ||
      parser.parseKeyword("banks") || parser.parseKeyword("by") || parser.parseKeyword("lanes") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseLane))
    return failure();
  if (use != "read" && use != "write")
    return parser.emitError(start, "expected `read` or `write`");
  if (lanes.size() > phase.lanes.size())
    return parser.emitError(start, "no warp has so many lanes");
  phase.use = use == "read" ? SharedUse::Read : SharedUse::Write;
  llvm::copy(lanes, phase.lanes.begin());
  return phase;
}

AsmPrinter &tw::operator<<(AsmPrinter &printer, const SharedPhase &phase) {
  printer << (phase.use == SharedUse::Read ? "read " : "write ") << phase.accessBytes << " over "
          << phase.numBanks << " banks by lanes [";
  llvm::interleaveComma(phase.span(), printer, [&](uint8_t lane) { printer << unsigned(lane); });
  return printer << ']';
}

llvm::hash_code tw::hash_value(const SharedPhase &phase) {
  return llvm::hash_combine(phase.use, phase.accessBytes, phase.numBanks,
                            llvm::hash_combine_range(phase.lanes.begin(), phase.lanes.end()));
}
