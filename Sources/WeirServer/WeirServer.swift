// WeirServer
