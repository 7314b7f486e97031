extension ConfigurationReference {
  /// Keys of a listener.
  static let listeners: [Key] = [
    Key(
      "listeners.name", "text", "required",
      "1 to 64 letters, digits, hyphens, underscores and dots, unique; a label of metrics and log lines"),
    Key(
      "listeners.address", "address", "required",
      """
      unique: `127.0.0.1:8080`, `"[::1]:8080"`, `":8080"` (all addresses, so beside no other of this port) or \
      `unix:/path`
      """),
    Key(
      "listeners.connections", "integer", "an equal part of the descriptors' share",
      """
      1 to 8192 open connections per worker; at the limit the one that can best be spared is closed for a new \
      one ([Descriptors](#descriptors))
      """),
    Key(
      "listeners.connectionsPerClient", "integer", "`off`",
      """
      1 to 100000 open connections of one address; one more is closed at once. Clients of Unix sockets have no \
      address, and no limit
      """),
    Key(
      "listeners.proxyProtocol", "boolean", "`false`",
      """
      `true`: connections begin with a PROXY header, version 1 or 2, whose source then stands for the peer; \
      those without are closed. With `trustedProxies` only theirs begin so, and anybody else's header is a bad \
      request. A header of version 2 may have up to 64 KiB, and one for UDP or a Unix socket leaves the peer
      """),
    Key(
      "listeners.trustedProxies", "list", "none",
      "up to 100 networks, addresses or `unix` (peers on Unix sockets), whose word about the client counts (below)"),
    Key(
      "listeners.clientAddress", "text", "`X-Forwarded-For`",
      "the field in which trusted proxies tell of the client: this one or `Forwarded`"),
    Key(
      "listeners.clients", "mapping", "all clients",
      "which clients may use the listener ([Access](#access)): `clients: { allow: [10.0.0.0/8, unix] }`"),
    Key(
      "listeners.clients.allow", "list", "all clients",
      "1 to 1000 networks, addresses or `unix`; all other clients are refused"),
    Key(
      "listeners.clients.deny", "list", "none",
      "the same; takes precedence over `allow`"),
    Key(
      "listeners.timeouts", "mapping", "",
      "each value from 0.1s to 1h"),
    Key(
      "listeners.timeouts.handshake", "duration", "`10s`",
      "for the PROXY header and the TLS handshake, from the connection's begin; then the connection closes"),
    Key(
      "listeners.timeouts.header", "duration", "`10s`",
      "for a request's head, from its first byte; then 408. A connection that sends none closes after as long"),
    Key(
      "listeners.timeouts.body", "duration", "`30s`",
      """
      without a byte of a body that is awaited; then 408. Also without a byte of one that is discarded, as it was \
      answered early
      """),
    Key(
      "listeners.timeouts.idle", "duration", "`75s`",
      "between two requests of a connection"),
    Key(
      "listeners.timeouts.write", "duration", "`30s`",
      "while a client takes none of its response; then the connection is reset"),
    Key(
      "listeners.timeouts.maximumAge", "duration", "`off`",
      """
      of a connection: the next response after that is its last, with `Connection: close`. One that waits for \
      a request closes by `idle`, so that no request is lost
      """),
    Key(
      "listeners.tls", "mapping", "none",
      "clients speak TLS here ([TLS](#tls))"),
    Key(
      "listeners.tls.certificates", "list", "required",
      "1 to 100 of `{ certificate, key }`"),
    Key(
      "listeners.tls.certificates.certificate", "path", "required",
      "a PEM file: the server's own certificate first, then those that lead to its authority"),
    Key(
      "listeners.tls.certificates.key", "path", "required",
      "a PEM file with its private key, without passphrase"),
    Key(
      "listeners.tls.strictNames", "boolean", "`false`",
      """
      `true`: a client that names a host of no certificate gets the alert `unrecognized_name`, and a request \
      for a host that the connection's certificate does not cover 421
      """),
    Key(
      "listeners.tls.minimumVersion", "`1.2`, `1.3`", "`1.2`",
      "the oldest version that is spoken"),
    Key(
      "listeners.tls.clientCA", "path", "none",
      "a PEM file of the authorities of clients' certificates; without it clients are asked for none"),
    Key(
      "listeners.tls.clientAuth", "text", "`required`",
      "or `optional`: a client may have no certificate; a bad one ends the handshake in both cases"),
    Key(
      "listeners.tls.forward", "mapping", "none",
      "fields by which upstreams are told of a client's certificate"),
    Key(
      "listeners.tls.forward.subject", "text", "none",
      "the field that gets its subject, as RFC 2253 writes it: `CN=me,O=Example`"),
    Key(
      "listeners.tls.forward.certificate", "text", "none",
      "the field that gets the certificate, as RFC 9440 writes it; `Client-Cert` is its standard name"),
    Key(
      "listeners.tls.ticketKeys", "path", "drawn",
      "a file with 1 to 4 keys of 80 bytes, for instances that share tickets; the first encrypts, all decrypt"),
    Key(
      "listeners.limits", "mapping", "",
      "sizes in bytes"),
    Key(
      "listeners.limits.targetBytes", "integer", "`8192`",
      "1024 to 65536, of the request target; a longer one is answered 414"),
    Key(
      "listeners.limits.headerBytes", "integer", "`32768`",
      "4096 to 262144, of all fields with the empty line behind them; more are answered 431"),
    Key(
      "listeners.limits.headerFields", "integer", "`200`",
      "16 to 1000 fields; more are answered 431"),
    Key(
      "listeners.limits.bodyBytes", "integer", "`off`",
      "1 to 1099511627776 (1 TiB); a larger body is answered 413"),
  ]
}
