// SPDX-License-Identifier: MIT
// W5: producer and consumer over a ring of 128 smart pointers. One thread.
//
// `w5_ring HOLDER PAYLOAD [STEPS]`: in every step the producer makes 0 to 31 packets, each filled
// with a counter, unless the ring is full; then the consumer drops 0 to 31. PAYLOAD is 16, 64 or
// 256 bytes. "ms" is the time of all steps.
//   unique_ptr   make_unique<Packet>                                        plain
//   make_shared  make_shared<Packet>                                        plain
//   pool         unique_ptr whose deleter returns the packet to a vector    hand-written pool
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kRingSlots = 128;
constexpr std::uint32_t kMaxPerStep = 31;

template <std::size_t Bytes>
struct Packet {
  Packet() {}  // leaves the payload uninitialised: the producer fills it
  unsigned char payload[Bytes];
};

template <typename T>
class VectorPool {
 public:
  struct Give {
    void operator()(T* object) const { free_objects.emplace_back(object); }
  };
  using Pointer = std::unique_ptr<T, Give>;

  static Pointer take() {
    if (free_objects.empty()) return Pointer(new T);
    T* object = free_objects.back().release();
    free_objects.pop_back();
    return Pointer(object);
  }

 private:
  static inline std::vector<std::unique_ptr<T>> free_objects;
};

template <typename Make>
double measure(std::size_t steps, Make make) {
  std::array<decltype(make()), kRingSlots> ring;
  std::size_t produced = 0, consumed = 0;
  workload::Random random(1);
  workload::Stopwatch stopwatch;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::uint32_t n = random.below(kMaxPerStep + 1); n > 0; --n) {
      if (produced - consumed == kRingSlots) break;
      auto packet = make();
      std::memset(packet->payload, static_cast<int>(produced & 0xff), sizeof packet->payload);
      workload::keep(packet.get());
      ring[produced % kRingSlots] = std::move(packet);
      ++produced;
    }
    for (std::uint32_t n = random.below(kMaxPerStep + 1); n > 0 && consumed < produced; --n) {
      ring[consumed % kRingSlots].reset();
      ++consumed;
    }
  }
  return stopwatch.elapsed_ms();
}

template <std::size_t Bytes>
double measure_holder(std::string_view holder, std::size_t steps, const char* usage) {
  using Payload = Packet<Bytes>;
  if (holder == "unique_ptr") return measure(steps, [] { return std::make_unique<Payload>(); });
  if (holder == "make_shared") return measure(steps, [] { return std::make_shared<Payload>(); });
  if (holder == "pool") return measure(steps, [] { return VectorPool<Payload>::take(); });
  workload::usage(usage);
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w5_ring unique_ptr|make_shared|pool 16|64|256 [STEPS]";
  if (argc < 3) workload::usage(usage);
  std::string_view holder = argv[1];
  std::size_t steps = workload::argument(argc, argv, 3, 1'000'000, usage);
  double ms = 0;
  switch (workload::argument(argc, argv, 2, 0, usage)) {
    case 16:
      ms = measure_holder<16>(holder, steps, usage);
      break;
    case 64:
      ms = measure_holder<64>(holder, steps, usage);
      break;
    case 256:
      ms = measure_holder<256>(holder, steps, usage);
      break;
    default:
      workload::usage(usage);
  }
  workload::print_json(argc, argv, {{"ms", ms}});
}
