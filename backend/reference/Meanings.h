// Which operations each file of the interpreter gives a meaning to.
#ifndef BACKEND_REFERENCE_MEANINGS_H
#define BACKEND_REFERENCE_MEANINGS_H
#include "backend/reference/Interpreter.h"

namespace tw::reference {

using Meanings = llvm::StringMap<Meaning>;

void addConversionMeanings(Meanings &meanings);
void addIntegerMeanings(Meanings &meanings);
void addFloatMeanings(Meanings &meanings);
void addMultipleResultMeanings(Meanings &meanings);
void addShapeMeanings(Meanings &meanings);
void addMemoryMeanings(Meanings &meanings);
void addAtomicMeanings(Meanings &meanings);
void addReduceMeanings(Meanings &meanings);
void addControlFlowMeanings(Meanings &meanings);
void addDebugMeanings(Meanings &meanings);

} // namespace tw::reference
#endif
