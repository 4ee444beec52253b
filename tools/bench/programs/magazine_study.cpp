// SPDX-License-Identifier: MIT
// The free list's question: arrays of pointers beside the objects, or a list through the objects?
// And what does it cost to count operations? One thread.
//
// `magazine_study array|intrusive counted|uncounted pairs|shuffled|touched SIZE [ROUNDS]`: objects
// of SIZE bytes, each round 100,000 of them.
//   pairs     one is allocated and released, 100,000 times
//   shuffled  all are allocated, then released in shuffled order, as in W4; the program does not
//             touch them
//   touched   the same, and the program writes the first byte of each
// "ns_per_pair" is the time of an allocation and a release, "ms" that of all rounds; a round before
// the first brings the lists into the order that they keep.
//
//   array      as sizeclass/magazine.h and cache.h: marks at both ends instead of a length; a
//              loaded and a previous magazine. Neither call touches the object.
//   intrusive  the first word of a free object points to the next; the end is a null pointer.
//              Nothing in such a list tells that it is full, and to hand over exactly one batch
//              without a walk, its length must be known. So there are two lists: allocations pop
//              from `loaded` and know no length; releases push to `freed` and count down its room.
//              When `loaded` is empty the lists are swapped; when `freed` is full it becomes
//              `loaded` if that is empty, else a batch that is given away. The price is one count
//              per release, also in the uncounted variant, and that the object released last is
//              not the next one allocated; one list with a length would count in both calls.
//   counted    one ++allocated per allocation, as statistics need it.
// Both exchange batches of 64 by one pointer with the same global stack, a vector behind a mutex,
// and keep at most two in the thread. As malloc and free, the calls are not inlined.
#include <cstddef>
#include <mutex>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr const char* kUsage =
    "magazine_study array|intrusive counted|uncounted pairs|shuffled|touched SIZE [ROUNDS]";

constexpr std::size_t kObjects = 100'000;  // per round
constexpr std::size_t kBatchObjects = 64;
constexpr std::size_t kBatches = (kObjects + kBatchObjects - 1) / kBatchObjects;
constexpr std::size_t kAllObjects = kBatches * kBatchObjects;
constexpr std::size_t kCacheLine = 64;

// Batches that wait for a thread: magazines or heads of lists.
class BatchStack {
 public:
  BatchStack() { batches_.reserve(kBatches + 2); }

  void give(void* batch) {
    std::lock_guard lock(mutex_);
    batches_.push_back(batch);
  }

  void* take() {  // nullptr when there is none
    std::lock_guard lock(mutex_);
    if (batches_.empty()) return nullptr;
    void* batch = batches_.back();
    batches_.pop_back();
    return batch;
  }

 private:
  std::mutex mutex_;
  std::vector<void*> batches_;
};

BatchStack full_batches, empty_magazines;

template <bool kCounted>
class ArrayList {
 public:
  void* allocate() {
    std::uintptr_t object = *top_;
    if (object == kEmptyMark) [[unlikely]]
      return allocate_slow();
    --top_;
    if constexpr (kCounted) ++allocated_;
    return reinterpret_cast<void*>(object);
  }

  void release(void* object) {
    if (top_[1] == kFullMark) [[unlikely]]
      return release_slow(object);
    *++top_ = reinterpret_cast<std::uintptr_t>(object);
  }

  void start() {
    static Magazine magazines[kBatches + 2];
    for (Magazine& magazine : magazines) empty_magazines.give(&magazine);
    loaded_ = static_cast<Magazine*>(empty_magazines.take());
    previous_ = static_cast<Magazine*>(empty_magazines.take());
    top_ = loaded_->slots;
  }

  std::uint64_t allocated() const { return allocated_; }

 private:
  static constexpr std::uintptr_t kEmptyMark = 0;
  static constexpr std::uintptr_t kFullMark = ~std::uintptr_t{0};

  struct alignas(kCacheLine) Magazine {
    Magazine() { slots[kBatchObjects + 1] = kFullMark; }
    std::uintptr_t slots[kBatchObjects + 2]{};
    bool full = false;  // as of the last swap; else empty
  };

  // The loaded magazine is empty.
  [[gnu::noinline]] void* allocate_slow() {
    if (!previous_->full) {
      auto* magazine = static_cast<Magazine*>(full_batches.take());
      if (magazine == nullptr) return nullptr;
      empty_magazines.give(previous_);
      previous_ = magazine;
    }
    swap(false);
    return allocate();
  }

  // The loaded magazine is full.
  [[gnu::noinline]] void release_slow(void* object) {
    if (previous_->full) {
      full_batches.give(previous_);
      previous_ = static_cast<Magazine*>(empty_magazines.take());
    }
    swap(true);
    release(object);
  }

  void swap(bool loaded_is_full) {
    loaded_->full = loaded_is_full;
    std::swap(loaded_, previous_);
    top_ = loaded_->slots + (loaded_->full ? kBatchObjects : 0);
  }

  std::uintptr_t* top_ = nullptr;
  std::uint64_t allocated_ = 0;
  Magazine* loaded_ = nullptr;
  Magazine* previous_ = nullptr;
};

template <bool kCounted>
class IntrusiveList {
 public:
  void* allocate() {
    Object* object = loaded_;
    if (object == nullptr) [[unlikely]]
      return allocate_slow();
    loaded_ = object->next;
    if constexpr (kCounted) ++allocated_;
    return object;
  }

  void release(void* memory) {
    auto* object = static_cast<Object*>(memory);
    object->next = freed_;
    freed_ = object;
    if (--room_ == 0) [[unlikely]]
      release_slow();
  }

  void start() {}

  std::uint64_t allocated() const { return allocated_; }

 private:
  struct Object {
    Object* next;
  };

  [[gnu::noinline]] void* allocate_slow() {
    loaded_ = take_freed();
    if (loaded_ == nullptr) loaded_ = static_cast<Object*>(full_batches.take());
    return loaded_ == nullptr ? nullptr : allocate();
  }

  [[gnu::noinline]] void release_slow() {
    if (loaded_ == nullptr)
      loaded_ = take_freed();
    else
      full_batches.give(take_freed());
  }

  Object* take_freed() {
    room_ = kBatchObjects;
    return std::exchange(freed_, nullptr);
  }

  Object* loaded_ = nullptr;
  Object* freed_ = nullptr;
  std::size_t room_ = kBatchObjects;  // objects until freed_ is full
  std::uint64_t allocated_ = 0;
};

template <typename List>
constinit thread_local List list;

template <typename List>
[[gnu::noinline, gnu::aligned(kCacheLine)]] void* allocate() {
  return list<List>.allocate();
}

template <typename List>
[[gnu::noinline, gnu::aligned(kCacheLine)]] void release(void* object) {
  list<List>.release(object);
}

// An object takes a whole number of these.
struct alignas(kCacheLine) Line {
  char bytes[kCacheLine];
};

// The list hands out every object once more, and no other.
template <typename List>
bool all_there(const std::vector<Line>& memory) {
  std::size_t stride = memory.size() / kAllObjects;
  std::vector<bool> seen(memory.size());
  for (std::size_t i = 0; i < kAllObjects; ++i) {
    auto* object = static_cast<const Line*>(allocate<List>());
    if (object < memory.data() || object > &memory.back()) return false;
    std::size_t line = static_cast<std::size_t>(object - memory.data());
    if (line % stride != 0 || seen[line]) return false;
    seen[line] = true;
  }
  return allocate<List>() == nullptr;
}

template <typename List>
void run_round(std::string_view pattern, const std::vector<std::uint32_t>& places,
               std::vector<void*>& objects) {
  if (pattern == "pairs") {
    for (std::size_t i = 0; i < kObjects; ++i) release<List>(allocate<List>());
    return;
  }
  bool touch = pattern == "touched";
  for (std::uint32_t place : places) {
    void* object = allocate<List>();
    if (touch) *static_cast<volatile char*>(object) = 1;
    objects[place] = object;
  }
  for (void* object : objects) release<List>(object);
}

// The i-th object is stored at places[i]: the shuffle costs a store and no wait.
std::vector<std::uint32_t> make_places() {
  std::vector<std::uint32_t> places(kObjects);
  std::iota(places.begin(), places.end(), 0);
  workload::Random random(1);
  for (std::size_t i = kObjects - 1; i > 0; --i)
    std::swap(places[i], places[random.below(static_cast<std::uint32_t>(i + 1))]);
  return places;
}

template <typename List>
int study(int argc, char** argv) {
  std::string_view pattern = argv[3];
  std::size_t size = workload::argument(argc, argv, 4, 0, kUsage);
  std::size_t default_rounds = pattern == "pairs" ? 1000 : 50;
  std::size_t rounds = workload::argument(argc, argv, 5, default_rounds, kUsage);

  std::size_t stride = (size + kCacheLine - 1) / kCacheLine;
  std::vector<Line> memory(kAllObjects * stride);  // zeroed and so resident
  list<List>.start();
  for (std::size_t i = kAllObjects; i > 0; --i) release<List>(&memory[(i - 1) * stride]);
  std::vector<std::uint32_t> places = make_places();
  std::vector<void*> objects(kObjects);

  run_round<List>(pattern, places, objects);
  workload::Stopwatch stopwatch;
  for (std::size_t i = 0; i < rounds; ++i) run_round<List>(pattern, places, objects);
  double ms = stopwatch.elapsed_ms();

  std::size_t counted = std::string_view(argv[2]) == "counted" ? (rounds + 1) * kObjects : 0;
  if (list<List>.allocated() != counted || !all_there<List>(memory)) {
    std::fprintf(stderr, "an object was lost, handed out twice or not counted\n");
    return 1;
  }
  double ns_per_pair = ms * 1e6 / static_cast<double>(rounds * kObjects);
  workload::print_json(argc, argv, {{"ns_per_pair", ns_per_pair}, {"ms", ms}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) workload::usage(kUsage);
  std::string_view kind = argv[1], counting = argv[2], pattern = argv[3];
  if (pattern != "pairs" && pattern != "shuffled" && pattern != "touched") workload::usage(kUsage);
  bool counted = counting == "counted";
  if (!counted && counting != "uncounted") workload::usage(kUsage);
  if (kind == "array")
    return counted ? study<ArrayList<true>>(argc, argv) : study<ArrayList<false>>(argc, argv);
  if (kind == "intrusive")
    return counted ? study<IntrusiveList<true>>(argc, argv)
                   : study<IntrusiveList<false>>(argc, argv);
  workload::usage(kUsage);
}
