"""Thin repositories: one method, one named statement. Both engines share them."""
