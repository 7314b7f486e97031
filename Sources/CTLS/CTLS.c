// This target is its header; a package target needs one source file.
