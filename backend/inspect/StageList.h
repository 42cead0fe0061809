// The whole pipeline of a target on one screen.
#ifndef BACKEND_STAGELIST_H
#define BACKEND_STAGELIST_H
#include "backend/Target.h"

namespace tw {

/// Lists each stage with what is true after it, and under it the passes that lead there: what each
/// does, and those of its options that are not the defaults. Then the passes of ours around LLVM's,
/// and the variants of the code.
void listStages(const Target &target, const CompileOptions &options, llvm::raw_ostream &os);

} // namespace tw
#endif
