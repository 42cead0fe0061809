// Layouts as text for people: which thread and register holds each element of a tile.
#ifndef IR_LAYOUT_LAYOUTDIAGRAM_H
#define IR_LAYOUT_LAYOUTDIAGRAM_H
#include "ir/layout/LinearLayout.h"

namespace tw {

/// A grid of a 1-D or 2-D tile's elements (of the first 2-D piece of a higher one), one cell per
/// element: "w0 l3 r1" (several when replicated, the first and a count). Large tiles are cut with
/// the number of what is left out.
std::string layoutDiagram(const LinearLayout &layout, unsigned maxRows = 16,
                          unsigned maxColumns = 16);

} // namespace tw
#endif
