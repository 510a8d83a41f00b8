"""Lines of an import or export: one JSON object each, told apart by ``kind``. A null counts as absent."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from app.schemas.base import refuse
from app.schemas.fields import Instant, Invalidation, Name, Status
from app.schemas.parts import AssertionFields, EdgeFields, EvidenceFields, NodeFields, RuleFields


class NodeLine(NodeFields):
    """A node with the state it is to have; nothing cascades. ``content`` becomes its first assertion."""

    EXAMPLE: ClassVar[dict[str, Any] | None] = {"kind": "node", "key": "libc6", "nodeType": "Fact"}

    kind: Literal["node"]
    name: Name | None = None
    status: Status | None = None
    invalid_since: Instant | None = None
    invalidation: Invalidation | None = None

    @model_validator(mode="after")
    def _is_identified(self) -> Self:
        if self.key is None and self.memory_node_id is None:
            refuse("key", "give a key, a memoryNodeId or both")
        if self.key is None and self.name is None:
            refuse("name", "give a name, a key or both")
        if self.status != "Invalid" and self.invalidation is not None:
            refuse("invalidation", "belongs to nodes of status Invalid")
        if self.status != "Invalid" and self.invalid_since is not None:
            refuse("invalid_since", "belongs to nodes of status Invalid")
        return self


class EdgeLine(EdgeFields):
    """An edge, with its ends by key or by id."""

    kind: Literal["edge"]


class AssertionLine(AssertionFields):
    """An assertion of a node."""

    kind: Literal["assertion"]
    first: Literal[True] | None = None

    @model_validator(mode="after")
    def _first_has_its_own_id(self) -> Self:
        if self.first and (self.node is None or self.memory_assertion_id is not None):
            refuse("first", "goes with node (a key) and without memoryAssertionId")
        return self


class EvidenceLine(EvidenceFields):
    """Evidence for an assertion, or for the first assertion of the node that is named."""

    kind: Literal["evidence"]


class RuleLine(RuleFields):
    """A rule version."""

    kind: Literal["rule"]


Line = NodeLine | EdgeLine | AssertionLine | EvidenceLine | RuleLine

ImportLine: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])
"""Reads one line: ``ImportLine.validate_json(raw)``."""
