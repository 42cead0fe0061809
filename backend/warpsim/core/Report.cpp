// Reports of a simulation, for programs (JSON) and for people.
#include "backend/warpsim/Launch.h"
#include "backend/warpsim/ptx/Parse.h"
#include <algorithm>
#include <cstdio>
#include <set>

using namespace tw::warpsim;

static double ratio(uint64_t asked, uint64_t sectors) {
  // Lanes that overlap can ask for more bytes than there are.
  return sectors == 0 ? 1.0 : std::min(1.0, double(asked) / (32.0 * double(sectors)));
}
double Statistics::globalLoadEfficiency() const {
  return ratio(globalLoadBytes, globalLoadSectors);
}
double Statistics::globalStoreEfficiency() const {
  return ratio(globalStoreBytes, globalStoreSectors);
}

bool SimulationReport::hasErrors() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding &f) { return f.isError; });
}

static std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\u%04x", unsigned(c));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

namespace {
/// Writes the members of a JSON object in order.
class ObjectWriter {
public:
  void text(const char *key, const std::string &value) { raw(key, quote(value)); }
  void number(const char *key, int64_t value) { raw(key, std::to_string(value)); }
  void real(const char *key, double value) {
    char digits[32];
    snprintf(digits, sizeof(digits), "%.6g", value);
    raw(key, digits);
  }
  void triple(const char *key, const std::array<uint32_t, 3> &value) {
    raw(key, "[" + std::to_string(value[0]) + ", " + std::to_string(value[1]) + ", " +
                 std::to_string(value[2]) + "]");
  }
  void raw(const char *key, const std::string &value) {
    members += (members.empty() ? "" : ", ") + quote(key) + ": " + value;
  }
  std::string take() { return "{" + members + "}"; }

private:
  std::string members;
};
} // namespace

static std::string instructionText(const Program &program, int32_t number) {
  return number < 0 ? "" : printInstruction(program, program.code[number]);
}

static void writePlaces(ObjectWriter &writer, const Finding &finding) {
  writer.number("ptxLine", finding.ptxLine);
  writer.number("otherPtxLine", finding.otherPtxLine);
  writer.text("file", finding.file);
  writer.number("sourceLine", finding.sourceLine);
  writer.number("sourceColumn", finding.sourceColumn);
}

static std::string findingJson(const Program &program, const Finding &finding) {
  ObjectWriter writer;
  writer.text("kind", nameOf(finding.kind));
  writer.raw("isError", finding.isError ? "true" : "false");
  writer.text("message", finding.message);
  writer.text("buffer", finding.buffer);
  writer.number("offset", finding.offset);
  writer.number("instruction", finding.instruction);
  writer.text("instructionText", instructionText(program, finding.instruction));
  writer.number("otherInstruction", finding.otherInstruction);
  writer.text("otherInstructionText", instructionText(program, finding.otherInstruction));
  writePlaces(writer, finding);
  writer.triple("cta", finding.cta);
  writer.triple("thread", finding.thread);
  writer.triple("otherThread", finding.otherThread);
  writer.number("count", int64_t(finding.count));
  return writer.take();
}

static std::string lineJson(const std::string &file, int32_t number, const LineStatistics &line) {
  ObjectWriter writer;
  auto count = [&](const char *key, uint64_t value) { writer.number(key, int64_t(value)); };
  writer.text("file", file);
  writer.number("line", number);
  count("warpInstructions", line.warpInstructions);
  count("globalRequests", line.globalRequests);
  count("globalSectors", line.globalSectors);
  count("globalBytes", line.globalBytes);
  count("sharedRequests", line.sharedRequests);
  count("sharedWavefronts", line.sharedWavefronts);
  count("idealSharedWavefronts", line.idealSharedWavefronts);
  count("divergentBranches", line.divergentBranches);
  count("waits", line.waits);
  return writer.take();
}

static std::string linesJson(const Statistics &statistics) {
  std::string list;
  for (const auto &[place, line] : statistics.lines)
    list += (list.empty() ? "" : ", ") + lineJson(place.first, place.second, line);
  return "[" + list + "]";
}

static std::string statisticsJson(const Statistics &statistics) {
  ObjectWriter writer, mix;
  for (const auto &[name, count] : statistics.mix)
    mix.number(name.c_str(), int64_t(count));
  auto count = [&](const char *key, uint64_t value) { writer.number(key, int64_t(value)); };
  count("warpInstructions", statistics.warpInstructions);
  count("threadInstructions", statistics.threadInstructions);
  writer.raw("mix", mix.take());
  count("globalLoadRequests", statistics.globalLoadRequests);
  count("globalLoadSectors", statistics.globalLoadSectors);
  count("globalLoadBytes", statistics.globalLoadBytes);
  count("globalStoreRequests", statistics.globalStoreRequests);
  count("globalStoreSectors", statistics.globalStoreSectors);
  count("globalStoreBytes", statistics.globalStoreBytes);
  writer.real("globalLoadEfficiency", statistics.globalLoadEfficiency());
  writer.real("globalStoreEfficiency", statistics.globalStoreEfficiency());
  count("sharedRequests", statistics.sharedRequests);
  count("sharedWavefronts", statistics.sharedWavefronts);
  count("idealSharedWavefronts", statistics.idealSharedWavefronts);
  count("matrixRowGroups", statistics.matrixRowGroups);
  count("matrixWavefronts", statistics.matrixWavefronts);
  count("asyncCopies", statistics.asyncCopies);
  count("barriers", statistics.barriers);
  count("atomics", statistics.atomics);
  count("localAccesses", statistics.localAccesses);
  count("divergentBranches", statistics.divergentBranches);
  writer.raw("lines", linesJson(statistics));
  return writer.take();
}

static std::string eventsJson(const Timeline &timeline) {
  std::string list;
  for (const TimelineEvent &event : timeline.events) {
    list += list.empty() ? "[" : ", [";
    list += std::to_string(unsigned(event.kind)) + ", " + std::to_string(event.warp) + ", " +
            std::to_string(event.pc) + ", " + std::to_string(event.begin) + ", " +
            std::to_string(event.end) + "]";
  }
  return "[" + list + "]";
}

/// The instructions that events name, by their numbers.
static std::string instructionsJson(const Program &program,
                                    const std::vector<Timeline> &timelines) {
  ObjectWriter writer;
  std::set<int32_t> named;
  for (const Timeline &timeline : timelines)
    for (const TimelineEvent &event : timeline.events)
      if (event.pc >= 0)
        named.insert(event.pc);
  for (int32_t pc : named) {
    ObjectWriter instruction;
    int32_t location = program.code[size_t(pc)].location;
    SourceLocation place;
    if (location >= 0 && size_t(location) < program.locations.size())
      place = program.locations[size_t(location)];
    auto file = program.files.find(place.file);
    instruction.text("text", instructionText(program, pc));
    instruction.text("file", file == program.files.end() ? "" : file->second);
    instruction.number("line", place.line);
    writer.raw(std::to_string(pc).c_str(), instruction.take());
  }
  return writer.take();
}

static std::string timelinesJson(const std::vector<Timeline> &timelines) {
  std::string list;
  for (const Timeline &timeline : timelines) {
    ObjectWriter writer;
    writer.number("program", int64_t(timeline.cta));
    writer.raw("isCut", timeline.isCut ? "true" : "false");
    writer.raw("events", eventsJson(timeline));
    list += (list.empty() ? "" : ", ") + writer.take();
  }
  return "[" + list + "]";
}

std::string SimulationReport::json(const Program &program) const {
  std::string list;
  for (const Finding &finding : findings)
    list += (list.empty() ? "" : ", ") + findingJson(program, finding);
  ObjectWriter writer;
  writer.raw("findings", "[" + list + "]");
  writer.raw("statistics", statisticsJson(statistics));
  if (!timelines.empty()) {
    writer.raw("timelines", timelinesJson(timelines));
    writer.raw("instructions", instructionsJson(program, timelines));
  }
  return writer.take();
}

static std::string placeText(const Finding &finding) {
  std::string text;
  if (!finding.file.empty())
    text = finding.file + ":" + std::to_string(finding.sourceLine) + ": ";
  return text + nameOf(finding.kind) + ": " + finding.message;
}

static std::string triple(const std::array<uint32_t, 3> &value) {
  return "(" + std::to_string(value[0]) + ", " + std::to_string(value[1]) + ", " +
         std::to_string(value[2]) + ")";
}

static std::string findingText(const Program &program, const Finding &finding) {
  std::string text = placeText(finding) + "\n";
  if (finding.instruction >= 0)
    text += "  line " + std::to_string(finding.ptxLine) + ": " +
            instructionText(program, finding.instruction) + "\n";
  if (finding.otherInstruction >= 0)
    text += "  line " + std::to_string(finding.otherPtxLine) + ": " +
            instructionText(program, finding.otherInstruction) + "  (before)\n";
  text += "  CTA " + triple(finding.cta) + ", thread " + triple(finding.thread);
  if (finding.count > 1)
    text += ", and " + std::to_string(finding.count - 1) + " more times";
  return text + "\n";
}

std::string SimulationReport::findingsText(const Program &program) const {
  std::string text;
  for (const Finding &finding : findings)
    text += findingText(program, finding);
  return text;
}

std::string SimulationReport::text(const Program &program) const {
  char line[256];
  snprintf(line, sizeof(line),
           "%llu warp instructions; global loads %.0f %% and stores %.0f %% of their sectors used; "
           "shared memory %.2f times its ideal passes; %llu barriers\n",
           static_cast<unsigned long long>(statistics.warpInstructions),
           100 * statistics.globalLoadEfficiency(), 100 * statistics.globalStoreEfficiency(),
           statistics.idealSharedWavefronts
               ? double(statistics.sharedWavefronts) / double(statistics.idealSharedWavefronts)
               : 1.0,
           static_cast<unsigned long long>(statistics.barriers));
  return findingsText(program) + line;
}
