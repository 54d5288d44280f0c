// How many lanes lie side by side where vectors hold one label of several sequences, whatever the
// width of the vectors.
#pragma once

namespace crfkit {

inline constexpr int kStripe = 8;

}  // namespace crfkit
