// Weir
