"""What all models share: camelCase on the wire, described from the vocabulary, and checks across fields."""

from typing import Any, ClassVar, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from app.schemas.describing import describe


def _finish(schema: dict[str, Any], model: type[BaseModel]) -> None:
    describe(schema, model)
    example = getattr(model, "EXAMPLE", None)
    if example is not None:
        schema["examples"] = [example]


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, json_schema_extra=_finish)


class Input(_Wire):
    """What a caller sends: no unknown field, nothing converted in silence."""

    model_config = ConfigDict(extra="forbid", strict=True)

    EXAMPLE: ClassVar[dict[str, Any] | None] = None


class Patch(Input):
    """Only the fields that are given change; null empties one that may be empty."""

    NULLABLE: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("empty_patch", "must give at least one field to change")
        for name in self.model_fields_set - self.NULLABLE:
            if getattr(self, name) is None:
                refuse(name, "must not be null")
        return self


class Output(_Wire):
    """What the service answers, for its documentation: rows are written as they are, not through this."""


def refuse(field: str, message: str) -> NoReturn:
    """Fail a check that reads several fields, with the fault at ``field``."""
    fault = PydanticCustomError("refused", "{reason}", {"reason": message})
    details = InitErrorDetails(type=fault, loc=(to_camel(field),), input=None)
    raise ValidationError.from_exception_data("request", [details])


def is_later(value: Any, info: ValidationInfo) -> Any:
    """Field validator for the end of an interval: it must be later than the start given with it."""
    start = info.data.get(_STARTS[info.field_name or ""])
    if value is not None and start is not None and value <= start:
        name = to_camel(_STARTS[info.field_name or ""])
        raise PydanticCustomError("reversed", "must be later than {start}", {"start": name})
    return value


_STARTS = {"effective_to": "effective_from", "expires_at": "effective_at"}
