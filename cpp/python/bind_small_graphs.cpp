// Placeholder of bind_small_graphs.
#include "python/graph.hpp"

namespace crfkit {

void bind_small_graphs(nb::module_&) {}

}  // namespace crfkit
