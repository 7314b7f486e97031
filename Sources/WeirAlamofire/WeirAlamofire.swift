// WeirAlamofire
