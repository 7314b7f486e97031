// WeirServerTests
