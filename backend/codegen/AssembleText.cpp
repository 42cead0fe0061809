// An object file of a text in a machine's assembly language, by LLVM's assembler.
#include "backend/codegen/AssembleText.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/LlvmRegistry.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw;

namespace {
/// The state of the assembler, on the heap: after a crash it is leaked as a whole.
struct Assembly {
  explicit Assembly(const LlvmMachine &machine) : triple(machine.triple) {}

  llvm::Triple triple;
  llvm::MCTargetOptions options;
  llvm::SourceMgr sources;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> syntax;
  std::unique_ptr<llvm::MCSubtargetInfo> processor;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCObjectFileInfo> sections;
};
} // namespace

static void collectMessage(const llvm::SMDiagnostic &message, void *errors) {
  if (message.getKind() != llvm::SourceMgr::DK_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(errors));
  message.print(/*ProgName=*/nullptr, stream, /*ShowColors=*/false);
}

static void prepare(Assembly &assembly, const llvm::Target &target, const LlvmMachine &machine,
                    const std::string &text) {
  assembly.sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "assembly"),
                                      llvm::SMLoc());
  assembly.registers.reset(target.createMCRegInfo(assembly.triple));
  assembly.syntax.reset(
      target.createMCAsmInfo(*assembly.registers, assembly.triple, assembly.options));
  assembly.processor.reset(
      target.createMCSubtargetInfo(assembly.triple, machine.cpu, machine.features));
  assembly.instructions.reset(target.createMCInstrInfo());
  assembly.context = std::make_unique<llvm::MCContext>(assembly.triple, assembly.syntax.get(),
                                                       assembly.registers.get(),
                                                       assembly.processor.get(), &assembly.sources);
  assembly.sections.reset(target.createMCObjectFileInfo(*assembly.context, /*PIC=*/true));
  assembly.context->setObjectFileInfo(assembly.sections.get());
}

static void assemble(Assembly &assembly, const llvm::Target &target, std::string &object,
                     std::string &error) {
  llvm::MCContext &context = *assembly.context;
  // Of what is wrong with symbols; what is wrong with the text itself goes to the buffers' handler.
  context.setDiagnosticHandler(
      [&error](const llvm::SMDiagnostic &message, bool, const llvm::SourceMgr &,
               std::vector<const llvm::MDNode *> &) { collectMessage(message, &error); });
  llvm::SmallString<0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.createMCAsmBackend(*assembly.processor, *assembly.registers, assembly.options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCStreamer> streamer(
      target.createMCObjectStreamer(assembly.triple, context, std::move(backend), std::move(writer),
                                    std::unique_ptr<llvm::MCCodeEmitter>(target.createMCCodeEmitter(
                                        *assembly.instructions, context)),
                                    *assembly.processor));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(assembly.sources, context, *streamer, *assembly.syntax));
  std::unique_ptr<llvm::MCTargetAsmParser> machineParser(target.createMCAsmParser(
      *assembly.processor, *parser, *assembly.instructions, assembly.options));
  if (!machineParser) {
    error = "this machine has no assembler";
    return;
  }
  parser->setTargetParser(*machineParser);
  if (parser->Run(/*NoInitialTextSection=*/false) && error.empty())
    error = "the assembler refuses the text";
  object.assign(buffer.data(), buffer.size());
}

bool tw::assembleText(const std::string &text, const LlvmMachine &machine, EmittedCode &code,
                      std::string &error) {
  machine.initialize();
  auto assembly = std::make_unique<Assembly>(machine);
  const llvm::Target *target = findLlvmTarget(assembly->triple, error);
  if (!target)
    return false;
  std::string refusal;
  assembly->sources.setDiagHandler(collectMessage, &refusal);
  bool finished = containCrash(
      [&] {
        prepare(*assembly, *target, machine, text);
        assemble(*assembly, *target, code.bytes, refusal);
      },
      error);
  if (!finished) {
    (void)assembly.release();
    return false;
  }
  error = refusal;
  code.codeBytes = countCodeBytes(code.bytes);
  return error.empty();
}
