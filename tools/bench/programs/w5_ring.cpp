// SPDX-License-Identifier: MIT
// W5: producer and consumer over a ring of 128 packets, by value or by smart pointer. One thread.
//
// `w5_ring HOLDER PAYLOAD [STEPS]`: in every step the producer makes 0 to 31 packets, each filled
// with a counter, unless the ring is full; then the consumer drops 0 to 31. PAYLOAD is 16, 64 or
// 256 bytes. "ms" is the time of all steps.
//   value           the packet itself, copied into the ring                 allocates nothing
//   unique_ptr      make_unique<Packet>                                     plain
//   calls           as unique_ptr, and the result is not checked: for a library of empty functions,
//                   whose objects share their bytes
//   pool            unique_ptr whose deleter returns the packet to a vector hand-written pool
//   shared_ptr_new  shared_ptr<Packet>(new Packet)                          plain
//   make_shared     make_shared<Packet>                                     plain
//   shared_pool     allocate_shared, packet and counters from a vector      hand-written pool
//   header          make_unique and unique_ptr of pktmalloc.hpp             inlined
//   header_shared   make_shared of pktmalloc.hpp                            inlined
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "preload/contract/pktmalloc.hpp"
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

// Gives allocate_shared its one block, of packet and counters, from a vector pool.
template <typename T>
struct VectorAllocator {
  using value_type = T;
  struct Block {
    Block() {}
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  using Pool = VectorPool<Block>;

  VectorAllocator() = default;
  template <typename U>
  explicit VectorAllocator(const VectorAllocator<U>&) {}

  T* allocate(std::size_t) { return reinterpret_cast<T*>(Pool::take().release()); }
  void deallocate(T* object, std::size_t) {
    typename Pool::Give()(reinterpret_cast<Block*>(object));
  }
};

// Holds the packet itself, with what a smart pointer has.
template <typename T>
struct Value {
  T* operator->() { return &packet; }
  T& operator*() { return packet; }
  void reset() {}
  T packet;
};

unsigned char filling(std::size_t number) { return static_cast<unsigned char>(number); }

// The time of all steps in ms; ends the program when what is left in the ring is not what was made.
template <typename Make>
double measure(std::size_t steps, Make make, bool check = true) {
  std::array<decltype(make()), kRingSlots> ring;
  std::size_t produced = 0, consumed = 0;
  workload::Random random(1);
  workload::Stopwatch stopwatch;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::uint32_t n = random.below(kMaxPerStep + 1); n > 0; --n) {
      if (produced - consumed == kRingSlots) break;
      auto packet = make();
      std::memset(packet->payload, filling(produced), sizeof packet->payload);
      workload::keep(&*packet);
      ring[produced % kRingSlots] = std::move(packet);
      ++produced;
    }
    for (std::uint32_t n = random.below(kMaxPerStep + 1); n > 0 && consumed < produced; --n) {
      ring[consumed % kRingSlots].reset();
      ++consumed;
    }
  }
  double ms = stopwatch.elapsed_ms();

  for (; check && consumed < produced; ++consumed) {
    for (unsigned char byte : ring[consumed % kRingSlots]->payload) {
      if (byte != filling(consumed)) workload::fail("packet %zu is not what was made", consumed);
    }
  }
  return ms;
}

template <std::size_t Bytes>
double measure_holder(std::string_view holder, std::size_t steps, const char* usage) {
  using Payload = Packet<Bytes>;
  if (holder == "value") return measure(steps, [] { return Value<Payload>{}; });
  if (holder == "unique_ptr") return measure(steps, [] { return std::make_unique<Payload>(); });
  if (holder == "calls")
    return measure(
        steps, [] { return std::make_unique<Payload>(); }, false);
  if (holder == "pool") return measure(steps, [] { return VectorPool<Payload>::take(); });
  if (holder == "shared_ptr_new")
    return measure(steps, [] { return std::shared_ptr<Payload>(new Payload); });
  if (holder == "make_shared") return measure(steps, [] { return std::make_shared<Payload>(); });
  if (holder == "shared_pool")
    return measure(steps, [] { return std::allocate_shared<Payload>(VectorAllocator<Payload>()); });
  if (holder == "header") return measure(steps, [] { return pktmalloc::make_unique<Payload>(); });
  if (holder == "header_shared")
    return measure(steps, [] { return pktmalloc::make_shared<Payload>(); });
  workload::usage(usage);
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage =
      "w5_ring value|unique_ptr|calls|pool|shared_ptr_new|make_shared|shared_pool|header|"
      "header_shared 16|64|256 [STEPS]";
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
