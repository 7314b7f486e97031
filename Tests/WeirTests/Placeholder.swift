// WeirTests
