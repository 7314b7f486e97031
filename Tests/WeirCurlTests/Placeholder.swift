// WeirCurlTests
