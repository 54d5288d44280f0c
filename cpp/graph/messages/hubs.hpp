// Products of the messages into variables of many places, in the memory of a run.
#pragma once

#include <vector>

#include "graph/messages/places.hpp"

namespace crfkit {

class Hubs {
 public:
  explicit Hubs(const Places& p) : hub_(p.hub.size()) {
    std::int64_t size = 0;
    for (const bool place : {false, true}) {
      if (place) product_.resize(size);
      size = 0;
      for (std::size_t h = 0; h < hub_.size(); ++h) {
        const MessageVariable& v = p.variables_packed[p.hub[h]];
        const std::int32_t leaves = (v.places + kHubPart - 1) / kHubPart;
        if (place) hub_[h] = {product_.data() + size, leaves, 0, 0, -1};
        size += 2 * leaves * row_stride(v.width);
      }
    }
  }

  bool any() const { return !hub_.empty(); }
  MessageHub* data() { return hub_.data(); }

 private:
  std::vector<double> product_;
  std::vector<MessageHub> hub_;
};

}  // namespace crfkit
