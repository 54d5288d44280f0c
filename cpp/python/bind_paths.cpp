// Placeholder of bind_paths.
#include "python/graph.hpp"

namespace crfkit {

void bind_paths(nb::module_&) {}

}  // namespace crfkit
