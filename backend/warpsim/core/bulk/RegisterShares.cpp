// setmaxnreg: warpgroups hand registers to each other (PTX ISA, "setmaxnreg").
#include "backend/warpsim/core/bulk/BulkStep.h"
#include <algorithm>

using namespace tw::warpsim;

constexpr uint32_t kRegisterFile = 65536, kMinRegisters = 24, kMaxRegisters = 256, kUnit = 8;

/// The registers that each thread begins with.
static uint32_t registersAtEntry(const LaunchState &launch) {
  if (launch.kernel.maxRegisters)
    return launch.kernel.maxRegisters;
  uint32_t each = kRegisterFile / std::max(1u, launch.kernel.minCtas) / launch.numThreads;
  return std::min(kMaxRegisters, each / kUnit * kUnit);
}

static void begin(Cta &cta) {
  RegisterShares &shares = cta.registerShares;
  shares.isUsed = true;
  shares.groups.resize((cta.launch.numWarps + kWarpsOfGroup - 1) / kWarpsOfGroup);
  for (RegisterShares::Group &group : shares.groups)
    group.count = registersAtEntry(cta.launch);
}

/// Describes what is wrong with the operand or with the kernel; empty where nothing is.
static std::string findMisuse(const Cta &cta, const Instruction &instruction, uint32_t asked,
                              const RegisterShares::Group &group) {
  const Function &kernel = cta.launch.kernel;
  if (!kernel.maxRegisters && !kernel.reqNtid[0] && !kernel.maxNtid[0])
    return "setmaxnreg needs a kernel with .maxnreg, or with .reqntid and .minnctapersm";
  if (asked < kMinRegisters || asked > kMaxRegisters || asked % kUnit)
    return "setmaxnreg asks for " + std::to_string(asked) +
           " registers, not a multiple of 8 from 24 to 256";
  bool isUp = instruction.op == Op::MaxRegistersUp;
  if (isUp ? asked < group.count : asked > group.count)
    return std::string("setmaxnreg.") + (isUp ? "inc" : "dec") + " to " + std::to_string(asked) +
           " registers, and the warp has " + std::to_string(group.count);
  return "";
}

void tw::warpsim::executeRegisterShare(Cta &cta, Warp &warp, const Instruction &instruction,
                                       int32_t pc, LaneMask active) {
  BulkStep step = {cta, warp, instruction, pc, unsigned(__builtin_ctz(active))};
  if (LaneMask missing = warp.present() & ~active)
    cta.report(Kind::DivergentCollective, warp, unsigned(__builtin_ctz(missing)), pc,
               [](Finding &finding) {
                 finding.message = "the warp has diverged at setmaxnreg: this thread is elsewhere";
               });
  if (!cta.registerShares.isUsed)
    begin(cta);
  RegisterShares::Group &group = cta.registerShares.groups[warp.index / kWarpsOfGroup];
  uint32_t asked = uint32_t(instruction.sources[0].bits);
  if (std::string misuse = findMisuse(cta, instruction, asked, group); !misuse.empty())
    return step.report(Kind::WarpgroupMisuse, misuse);
  uint8_t bit = uint8_t(1 << warp.index % kWarpsOfGroup);
  if (group.warps && (group.pc != pc || (group.warps & bit)))
    step.report(Kind::WarpgroupMisuse, "the warps of a warpgroup execute different setmaxnreg",
                group.pc);
  group.pc = pc;
  group.asked = asked;
  group.warps |= bit;
  if (group.warps != 0xf)
    return;
  group.count = asked;
  group.warps = 0;
}

void tw::warpsim::reportRegisterShares(Cta &cta) {
  RegisterShares &shares = cta.registerShares;
  if (!shares.isUsed)
    return;
  uint64_t sum = 0;
  int32_t lastPc = -1;
  for (size_t i = 0; i < shares.groups.size(); ++i) {
    const RegisterShares::Group &group = shares.groups[i];
    sum += group.count;
    lastPc = std::max(lastPc, group.pc);
    if (unsigned missing = group.warps ? ~group.warps & 0xf : 0) {
      unsigned warp = unsigned(i) * kWarpsOfGroup + unsigned(__builtin_ctz(missing));
      if (warp < cta.warps.size())
        cta.report(Kind::WarpgroupMisuse, cta.warps[warp], 0, group.pc, [](Finding &finding) {
          finding.message = "the warp ends without the setmaxnreg of its warpgroup";
        });
    }
  }
  uint64_t has = uint64_t(registersAtEntry(cta.launch)) * shares.groups.size();
  if (sum > has)
    cta.report(Kind::WarpgroupMisuse, cta.warps[0], 0, lastPc, [&](Finding &finding) {
      finding.message = "the warpgroups ask for " + std::to_string(sum) +
                        " registers a thread together, and the CTA has " + std::to_string(has) +
                        ": a setmaxnreg.inc never returns";
    });
}
