// Placeholder of bind_visits.
#include "python/graph.hpp"

namespace crfkit {

void bind_visits(nb::module_&) {}

}  // namespace crfkit
