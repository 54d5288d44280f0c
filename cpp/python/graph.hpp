// What the bindings of all engines for graphs share.
#pragma once

#include <nanobind/nanobind.h>

#include "graph/kept_factors.hpp"
#include "python/arrays.hpp"
#include "python/spans.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

using namespace nb::literals;

}  // namespace crfkit
