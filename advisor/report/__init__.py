"""Rendering only: results come in, text or a document goes out."""
