"""Puts the vocabulary into the JSON schemas, so that the documentation reads like a manual."""

from collections.abc import Iterator
from inspect import isclass
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from app.schemas.vocabulary import VOCABULARY

NULL = "\0null"
"""Stands for null in an example until the document is whole: FastAPI drops what is null on the way."""


def describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give every property of the model's JSON schema the title, example and description it lacks."""
    for name, field in model.model_fields.items():
        property_ = schema["properties"][_alias(name, field)]
        term = VOCABULARY[_alias(name, field)]
        property_["title"] = field.title or term.title
        property_["examples"] = [_example(name, field)]
        if term.description:
            property_.setdefault("description", term.description)
        if property_.get("default", ...) is None:  # absent, which is not the same as being sent as null
            del property_["default"]


def example_of(model: type[BaseModel]) -> dict[str, Any]:
    """A whole object, field by field."""
    return {_alias(name, field): _example(name, field) for name, field in model.model_fields.items()}


def _example(name: str, field: FieldInfo) -> Any:
    if field.examples:
        return field.examples[0]
    inner = next(_models_in(field.annotation), None)
    if inner is None:
        example = VOCABULARY[_alias(name, field)].example
        return NULL if example is None else example
    return [example_of(inner)] if get_origin(field.annotation) is list else example_of(inner)


def with_nulls(part: Any) -> Any:
    """A finished schema with null where its examples say so."""
    if isinstance(part, dict):
        return {name: with_nulls(value) for name, value in part.items()}
    if isinstance(part, list):
        return [with_nulls(value) for value in part]
    return None if part == NULL else part


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isclass(annotation) and annotation is not NoneType and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _alias(name: str, field: FieldInfo) -> str:
    return field.alias or to_camel(name)
