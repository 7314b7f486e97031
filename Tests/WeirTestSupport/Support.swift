// WeirTestSupport
