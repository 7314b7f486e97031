// WeirIOTests
