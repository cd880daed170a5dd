"""What calls of programs mean that make sources, and of build tools that a recipe calls.

One that makes a file from others needs a table in `tools`, and no more.
"""
