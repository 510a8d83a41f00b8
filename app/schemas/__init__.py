"""What callers send and get. Inputs are checked here, once; what comes out of them can be kept."""

from app.schemas.inputs import (
    AssertionPatch,
    EdgePatch,
    GraphPatch,
    NewAssertion,
    NewBookmark,
    NewEdge,
    NewEvidence,
    NewGraph,
    NewInvalidation,
    NewNode,
    NewRule,
    NodePatch,
)
from app.schemas.lines import (
    AssertionLine,
    EdgeLine,
    EvidenceLine,
    ImportLine,
    Line,
    NodeLine,
    RuleLine,
)

__all__ = [
    "AssertionLine",
    "AssertionPatch",
    "EdgeLine",
    "EdgePatch",
    "EvidenceLine",
    "GraphPatch",
    "ImportLine",
    "Line",
    "NewAssertion",
    "NewBookmark",
    "NewEdge",
    "NewEvidence",
    "NewGraph",
    "NewInvalidation",
    "NewNode",
    "NewRule",
    "NodeLine",
    "NodePatch",
    "RuleLine",
]
