"""Small things that programs import."""
