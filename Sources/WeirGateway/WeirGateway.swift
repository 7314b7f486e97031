// WeirGateway
