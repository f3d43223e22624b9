"""A graph of boxes and arrows as SVG: layers from top to bottom, by Sugiyama's method."""

from html import escape

import numpy as np
from grandalf.graphs import Edge, Graph, Vertex
from grandalf.layouts import SugiyamaLayout
from grandalf.routing import EdgeViewer

HEIGHT, MARGIN, LETTER = 38, 12, 7.2  # pixels; LETTER is the width of one at 12 px
STYLE = """
text { font: 12px sans-serif; text-anchor: middle; fill: #1b1f24 }
text.shape { font-size: 11px; fill: #4b5563 }
rect { stroke: #4b5563; rx: 5px }
.input { fill: #dbeafe } .weights { fill: #fef3c7 } .sum { fill: #f3f4f6 } .output { fill: #dcfce7 }
.hidden { fill: #fff }
path { fill: none; stroke: #4b5563; stroke-width: 1.2 }
"""


class _Box:
    """What the layout has to know of a box, and where it puts its middle."""

    def __init__(self, title):
        self.w, self.h, self.xy = max(90, LETTER * len(title) + 16), HEIGHT, (0, 0)


def draw(boxes, arrows, title):
    """SVG of a connected graph without circles.

    Args:
        boxes: list of (kind, title, shape).
        arrows: list of (from, to), numbers of boxes.
        title: str, for those who cannot see it.
    """
    vertices = [Vertex(number) for number in range(len(boxes))]
    for vertex, (_, words, _) in zip(vertices, boxes, strict=True):
        vertex.view = _Box(words)
    edges = [Edge(vertices[start], vertices[end]) for start, end in arrows]
    for edge in edges:
        edge.view = EdgeViewer()
    place(Graph(vertices, edges))
    left = min(v.view.xy[0] - v.view.w / 2 for v in vertices) - MARGIN
    top = min(v.view.xy[1] for v in vertices) - HEIGHT / 2 - MARGIN
    right = max(v.view.xy[0] + v.view.w / 2 for v in vertices) + MARGIN
    bottom = max(v.view.xy[1] for v in vertices) + HEIGHT / 2 + MARGIN
    turns = [x for edge in edges for x, _ in edge.view._pts]
    left, right = min(left, min(turns) - MARGIN), max(right, max(turns) + MARGIN)
    width, height = right - left, bottom - top
    parts = [
        *_opening(left, top, width, height, title),
        *(arrow(edge.v[0].view, edge.view._pts, edge.v[1].view) for edge in edges),
        *(box(v.view, *boxes[v.data]) for v in vertices),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _opening(left, top, width, height, title):
    """First lines of a picture: its size, title, style and background."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8" style="fill:#4b5563"/>'
        "</marker></defs>",
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" '
        'style="fill:#fff;stroke:none;rx:0"/>',
    ]


def place(graph):
    """Give every box and every arrow its place."""
    if len(graph.C) != 1:
        raise ValueError(f"the graph falls into {len(graph.C)} parts")
    layout = SugiyamaLayout(graph.C[0])
    layout.xspace, layout.yspace = 22, 24
    layout.init_all(optimize=True)
    layout.draw(8)


def arrow(start, points, end):
    """A curve from the lower edge of one box to the upper edge of another."""
    (x, y), *turns, (end_x, end_y) = (start.xy, *points[1:-1], end.xy)
    y, end_y = y + HEIGHT / 2, end_y - HEIGHT / 2
    path = f"M{x:.0f} {y:.0f}"
    for next_x, next_y in [*turns, (end_x, end_y)]:
        half = (y + next_y) / 2
        path += f"C{x:.0f} {half:.0f} {next_x:.0f} {half:.0f} {next_x:.0f} {next_y:.0f}"
        x, y = next_x, next_y
    return f'<path d="{path}" marker-end="url(#tip)"/>'


def box(view, kind, title, shape):
    """A box with its two lines."""
    x, y = view.xy
    return (
        f'<rect class="{kind}" x="{x - view.w / 2:.0f}" y="{y - HEIGHT / 2:.0f}" '
        f'width="{view.w:.0f}" height="{HEIGHT}"/>'
        f'<text x="{x:.0f}" y="{y - 3:.0f}">{escape(title)}</text>'
        f'<text class="shape" x="{x:.0f}" y="{y + 12:.0f}">{escape(shape)}</text>'
    )


def draw_grids(grids, title, cell=22):
    """SVG of masks next to each other: filled cells are True.

    Args:
        grids: dict of title -> bool array `(query, key)`.
        title: str, for those who cannot see it.
        cell: int, width of a cell in pixels.
    """
    parts, left = [], 40
    for name, grid in grids.items():
        rows, columns = grid.shape
        width = max(columns * cell, LETTER * len(name))
        middle = left + columns * cell / 2
        parts.append(f'<text x="{middle:.0f}" y="20">{escape(name)}</text>')
        for (row, column), visible in np.ndenumerate(grid):
            kind = "input" if visible else "hidden"
            parts.append(
                f'<rect class="{kind}" x="{left + column * cell}" y="{32 + row * cell}" '
                f'width="{cell}" height="{cell}" style="rx:0"/>'
            )
        bottom = 32 + rows * cell + 18
        parts.append(f'<text class="shape" x="{middle:.0f}" y="{bottom}">key</text>')
        parts.append(
            f'<text class="shape" x="{left - 14}" y="{32 + rows * cell / 2:.0f}" '
            f'transform="rotate(-90 {left - 14} {32 + rows * cell / 2:.0f})">query</text>'
        )
        left += int(width) + 54
    height = bottom + 14
    return "\n".join([*_opening(0, 0, left - 20, height, title), *parts, "</svg>"]) + "\n"
