// WeirCompression
