// WeirIO
