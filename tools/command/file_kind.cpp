// SPDX-License-Identifier: MIT
#include "tools/command/file_kind.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "preload/formats/descriptor_name.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::json;

struct Kind {
  const char *is, *reader;
  const char *is_not, *variable;
};
// In the order of FileKind.
constexpr Kind kKinds[] = {
    {"a file of statistics", "report", "a statistics file of pktmalloc",
     "PKTMALLOC_STATS=FILE.json"},
    {"a heap profile", "profile", "a heap profile of pktmalloc", "PKTMALLOC_PROFILE=FILE"},
    {"a record of sizes", "tune", "a whole file of sizes", "PKTMALLOC_SIZES=FILE"},
    {"a trace", "replay", "a trace of pktmalloc", "PKTMALLOC_TRACE=FILE"},
};

// What is no file but a pipe was read already; what is no JSON is told by its first words.
std::string text_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == '{') return {std::istreambuf_iterator<char>(file), {}};
  std::string words(32, ' ');
  file.read(words.data(), static_cast<std::streamsize>(words.size()));
  return words;
}

bool looks_like(FileKind kind, const std::string& text) {
  if (kind == FileKind::kHeapProfile) return text.starts_with("heap profile:");
  // Compressed, its header comes as it is behind that of a frame (preload/recording/trace_file.h).
  if (kind == FileKind::kTrace) return text.substr(0, 20).find("pkttrace") != std::string::npos;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return false;
  return kind == FileKind::kSizes ? json.value("content", Json()) == "sizes"
                                  : json.contains("process") && json.contains("classes");
}

// Nothing where it is of none. `besides`: not asked for.
const Kind* kind_of(const std::string& text, std::optional<FileKind> besides = {}) {
  for (const FileKind kind :
       {FileKind::kStatistics, FileKind::kHeapProfile, FileKind::kSizes, FileKind::kTrace}) {
    if (kind != besides && looks_like(kind, text)) return &kKinds[static_cast<size_t>(kind)];
  }
  return nullptr;
}

}  // namespace

Failure wrong_kind(const std::string& path, FileKind wanted) {
  if (const Kind* const found = kind_of(text_of(path), wanted)) {
    // That word is a subcommand behind `report`.
    const std::string file = path == "profile" ? "./profile" : shell_word(path);
    return Failure("{} is {}; read it with: pktmalloc {} {}", path, found->is, found->reader, file);
  }
  const Kind& missed = kKinds[static_cast<size_t>(wanted)];
  return Failure("{} is not {} ({} writes one)", path, missed.is_not, missed.variable);
}

void refuse_recording(const std::string& path) {
  const Kind* const found = names_descriptor(path) ? nullptr : kind_of(text_of(path));
  if (found == nullptr) return;
  throw Failure("cannot write {}: it is {}, which would be lost; name another file first", path,
                found->is);
}

std::unique_ptr<OutputFile> output_at(const std::string& path) {
  if (path.empty()) return nullptr;
  refuse_recording(path);
  return std::make_unique<OutputFile>(path);
}

}  // namespace pktmalloc
