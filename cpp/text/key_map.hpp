// Ids by numbers: what strings were made of, as a key of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace crfkit {

// An exact map from 64-bit keys to ids.
class KeyMap {
 public:
  KeyMap() : slots_(16, Slot{0, kUnset}) {}  // a recipe may have 200,000 of them

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[first(key)]); }

  // The values of some keys; kUnset where there is none.
  void find(const std::uint64_t* keys, std::size_t count, std::int32_t* values) const {
    for (std::size_t k = 0; k < count; ++k) {
      const Slot* slot = search(slots_.data(), slots_.size() - 1, keys[k]);
      values[k] = slot ? slot->value : crowded(keys[k]);
    }
  }

  // The place of the value of a key; a new one holds kUnset.
  std::int32_t& operator[](std::uint64_t key) {
    if (2 * count_ >= slots_.size()) grow();
    Slot* slot = place(slots_, key);
    if (slot && slot->key == key + 1) return slot->value;
    if (!slot || !crowded_.empty()) {
      const auto known = slot ? crowded_.find(key) : crowded_.try_emplace(key, kUnset).first;
      if (known != crowded_.end()) return known->second;
    }
    *slot = {key + 1, kUnset};
    ++count_;
    return slot->value;
  }

  static constexpr std::int32_t kUnset = -1;

  // Bytes of memory; crowded keys are few.
  std::size_t room() const { return sizeof(Slot) * slots_.capacity(); }

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
  // How far from its place a key may lie.  By chance none gets so far; those that were made to are
  // kept in order, so that each costs a logarithm.
  static constexpr std::size_t kReach = 128;

  // The slot of a key, or the empty one for it; none where all within reach are taken.
  static const Slot* search(const Slot* slots, std::size_t mask, std::uint64_t key) {
    const std::uint64_t home = start(key);
    for (std::size_t tried = 0; tried < kReach; ++tried) {
      const Slot& slot = slots[(home + tried) & mask];
      if (slot.key == 0 || slot.key == key + 1) return &slot;
    }
    return nullptr;
  }
  static Slot* place(std::vector<Slot>& slots, std::uint64_t key) {
    return const_cast<Slot*>(search(slots.data(), slots.size() - 1, key));
  }
  [[gnu::noinline]] std::int32_t crowded(std::uint64_t key) const {
    const auto found = crowded_.find(key);
    return found == crowded_.end() ? kUnset : found->second;
  }
  void grow() {
    std::vector<Slot> wider(2 * slots_.size(), Slot{0, kUnset});
    for (const Slot& slot : slots_) {
      if (slot.key == 0) continue;
      if (Slot* place_of_key = place(wider, slot.key - 1)) {
        *place_of_key = slot;
      } else {
        crowded_.emplace(slot.key - 1, slot.value);
      }
    }
    slots_ = std::move(wider);
  }

  std::vector<Slot> slots_;
  std::map<std::uint64_t, std::int32_t> crowded_;  // those without a slot
  std::size_t count_ = 0;
};

}  // namespace crfkit
