"""Elements of a page, built as a tree: whatever stands in them is text, never markup."""

from __future__ import annotations

from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from advisor.words import plain

__all__ = ["Child", "el", "html"]

Child: TypeAlias = "Element | str | None"


def el(tag: str, attributes: dict[str, str | float] | None = None, *children: Child) -> Element:
    """An element; text in it, also names from strangers, is made harmless. None is left out."""
    element = Element(tag, {name: plain(_written(value)) for name, value in (attributes or {}).items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, str):
            text = "\n".join(map(plain, child.split("\n")))
            if last is None:
                element.text = (element.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        elif child is not None:
            element.append(child)
            last = child
    return element


def html(*elements: Element) -> str:
    """ELEMENTS as HTML."""
    return "\n".join(tostring(element, encoding="unicode", method="html") for element in elements)


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
