// Ids by numbers: what strings were made of, as a key of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

// An exact map from 64-bit keys to ids.
class KeyMap {
 public:
  KeyMap() : slots_(256, Slot{0, kUnset}) {}

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[first(key)]); }

  // The values of some keys; kUnset where there is none.
  void find(const std::uint64_t* keys, std::size_t count, std::int32_t* values) const {
    const Slot* slots = slots_.data();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t k = 0; k < count; ++k) {
      std::size_t i = start(keys[k]) & mask;
      while (slots[i].key != 0 && slots[i].key != keys[k] + 1) i = (i + 1) & mask;
      values[k] = slots[i].value;
    }
  }

  // The place of the value of a key; a new one holds kUnset.
  std::int32_t& operator[](std::uint64_t key) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = slots_[place(slots_, key)];
    if (slot.key == 0) {
      slot = {key + 1, kUnset};
      ++count_;
    }
    return slot.value;
  }

  static constexpr std::int32_t kUnset = -1;

 private:
  struct Slot {
    std::uint64_t key;  // plus 1; 0 is empty, and its value unset
    std::int32_t value;
  };
  std::size_t first(std::uint64_t key) const { return start(key) & (slots_.size() - 1); }
  static std::uint64_t start(std::uint64_t key) {
    const std::uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    return h ^ (h >> 32);
  }
  static std::size_t place(const std::vector<Slot>& slots, std::uint64_t key) {
    std::size_t i = start(key) & (slots.size() - 1);
    while (slots[i].key != 0 && slots[i].key != key + 1) i = (i + 1) & (slots.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Slot> wider(2 * slots_.size(), Slot{0, kUnset});
    for (const Slot& slot : slots_)
      if (slot.key != 0) wider[place(wider, slot.key - 1)] = slot;
    slots_ = std::move(wider);
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace crfkit
