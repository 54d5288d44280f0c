// Placeholder of bind_cuts.
#include "python/graph.hpp"

namespace crfkit {

void bind_cuts(nb::module_&) {}

}  // namespace crfkit
