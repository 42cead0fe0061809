// Declares the C++ functions that a field of TableGen records names, so that a row is all that a
// header needs: tw-tblgen -class=Elementwise -field=SimtFormula -type=LaneFormulaFunction FILE.td
#include "llvm/Support/CommandLine.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"
#include <set>

using namespace llvm;

static std::set<StringRef> functionsOf(const RecordKeeper &records, StringRef className,
                                       StringRef field) {
  std::set<StringRef> functions;
  for (const Record *record : records.getAllDerivedDefinitions(className))
    if (StringRef function = record->getValueAsString(field); function != "nullptr")
      functions.insert(function);
  return functions;
}

int main(int argc, char **argv) {
  cl::opt<std::string> className("class", cl::Required, cl::desc("the class of the records"));
  cl::opt<std::string> field("field", cl::Required, cl::desc("holds a function's name or nullptr"));
  cl::opt<std::string> type("type", cl::Required, cl::desc("the C++ type of these functions"));
  cl::ParseCommandLineOptions(argc, argv);
  return TableGenMain(argv[0], [&](raw_ostream &os, const RecordKeeper &records) {
    emitSourceFileHeader("Functions of " + className, os, records);
    for (StringRef function : functionsOf(records, className, field))
      os << type << " " << function << ";\n";
    return false;
  });
}
