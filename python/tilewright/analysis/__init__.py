"""What one program of a kernel does, read from the text of Tile IR."""
