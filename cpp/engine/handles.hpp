// Owners of what kernels make: tables of a problem, and working memory of one call.
#pragma once

#include <memory>

#include "shared/kernels.hpp"

namespace crfkit {

using Handle = std::unique_ptr<void, void (*)(void*)>;

inline Handle prepare(const Kernels& kernels, const Problem& p, const Task& task) {
  return {kernels.prepare(p, task), kernels.release};
}

inline Handle make_scratch(const Kernels& kernels) {
  return {kernels.make_scratch(), kernels.free_scratch};
}

}  // namespace crfkit
