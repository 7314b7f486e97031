// WeirGatewayTests
