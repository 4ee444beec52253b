// SPDX-License-Identifier: MIT
#include "tools/command/replay/plain_file.h"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr size_t kStep = size_t{1} << 20;

bool differs(const std::vector<unsigned char>& bytes, std::string_view magic) {
  const size_t known = std::min(bytes.size(), magic.size());
  return !std::equal(magic.begin(), magic.begin() + known, bytes.begin());
}

class Decompressor {
 public:
  Decompressor(PlainFile& file, std::string_view magic) : file_(file), magic_(magic) {}

  // False after a fault, and when what comes out begins otherwise.
  bool add(const unsigned char* bytes, size_t count) {
    ZSTD_inBuffer in{bytes, count, 0};
    // What comes out may be more than there was room for.
    for (bool full = false; in.pos < count || full;) {
      const size_t before = file_.bytes.size();
      file_.bytes.resize(before + kStep);
      ZSTD_outBuffer out{file_.bytes.data() + before, kStep, 0};
      const size_t in_before = in.pos;
      wanted_ = ZSTD_decompressStream(stream_.get(), &out, &in);
      file_.bytes.resize(before + out.pos);
      consumed_ += in.pos - in_before;
      if (ZSTD_isError(wanted_) != 0) return stop("damaged", ZSTD_getErrorName(wanted_));
      if (differs(file_.bytes, magic_)) return false;
      if (wanted_ == 0) frame_ = consumed_;
      full = out.pos == kStep;
    }
    return true;
  }

  void end() {
    if (wanted_ != 0) stop("cut off", "");
  }

 private:
  bool stop(const char* what, const char* why) {
    file_.fault = fmt::format("its zstd frame at byte {} is {}{}{}", frame_, what,
                              *why != '\0' ? ": " : "", why);
    return false;
  }

  using Free = size_t (*)(ZSTD_DStream*);
  std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream(), ZSTD_freeDStream};
  PlainFile& file_;
  std::string_view magic_;
  uint64_t consumed_ = 0, frame_ = 0;  // frame_: where the one under way begins
  size_t wanted_ = 0;                  // 0: between frames
};

bool is_zstd(const std::vector<unsigned char>& start) {
  return start.size() >= 4 && memcmp(start.data(), "\x28\xb5\x2f\xfd", 4) == 0;
}

}  // namespace

PlainFile read_plain(const std::string& path, std::string_view magic) {
  const auto close = [](FILE* f) { fclose(f); };
  const std::unique_ptr<FILE, decltype(close)> stream(
      path == "-" ? fdopen(0, "rb") : fopen(path.c_str(), "rb"), close);
  if (!stream) throw Failure("cannot read {}: {}", path, strerror(errno));
  PlainFile file;
  Decompressor decompressor(file, magic);
  bool more = true;
  for (std::vector<unsigned char> piece(kStep); more && piece.size() == kStep;) {
    piece.resize(fread(piece.data(), 1, kStep, stream.get()));
    if (file.file_bytes == 0) file.compressed = is_zstd(piece);
    file.file_bytes += piece.size();
    if (file.compressed) {
      more = decompressor.add(piece.data(), piece.size());
    } else {
      file.bytes.insert(file.bytes.end(), piece.begin(), piece.end());
      more = !differs(file.bytes, magic);
    }
  }
  if (ferror(stream.get()) != 0) throw Failure("cannot read {}: {}", path, strerror(errno));
  if (more) decompressor.end();
  return file;
}

}  // namespace pktmalloc
