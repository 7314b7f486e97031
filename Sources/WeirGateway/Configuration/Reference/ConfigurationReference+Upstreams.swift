extension ConfigurationReference {
  /// Keys of an entry of `upstreams`.
  static let upstreams: [Key] = [
    Key(
      "name", "text", "required",
      """
      1 to 64 lower-case letters, digits, `-`, `_`, `.`; no address, no dot at the end. Routes name the entry \
      by it, and it is `server_address` in metrics; `server_port` is the port that all listed endpoints share, \
      else that of the scheme. No other entry has it, nor is it the host of a route's URL
      """),
    Key(
      "scheme", "text", "`http`",
      "`http` or `https`"),
    Key(
      "basePath", "path", "none",
      "goes before the path of each request: `basePath: /api`"),
    Key(
      "endpoints", "list", "this, `srv` or `file`",
      """
      1 to 1000 of `10.0.0.7:8443`, `[2001:db8::7]:8443`, `name:8443`, `unix:/path`, or a mapping. A name \
      stands for all its addresses
      """),
    Key(
      "endpoints.address", "text", "required",
      """
      `{ address: "10.0.0.7:8443", weight: 2 }`
      """),
    Key(
      "endpoints.weight", "integer", "`1`",
      "1 to 1000; the endpoint's share of the requests."),
    Key(
      "endpoints.priority", "integer", "`0`",
      """
      0 to 9; requests go to a higher number only while no endpoint of a lower one is available; retries also go \
      there once they have tried those
      """),
    Key(
      "srv", "name", "this, `endpoints` or `file`",
      """
      the SRV records of a service (RFC 2782): `srv: _https._tcp.pay.internal`. A weight of 0 counts as 1; \
      priorities are ranked to 0 to 9
      """),
    Key(
      "file", "path", "this, `endpoints` or `srv`",
      "an absolute path; a list of targets in the form of Prometheus' `file_sd`, in JSON or YAML (below)"),
    Key(
      "host", "host or `client`", "the endpoint as written",
      """
      the `Host` field: a host, perhaps with a port, or `client` for the client's. As written: a name stays a \
      name; the port is left out where it is the scheme's; `localhost` for `unix:`. A route's `rewriteHost` \
      comes before it
      """),
    Key(
      "resolve", "mapping", "as below",
      "how names are looked up"),
    Key(
      "resolve.minimum", "duration", "`1s`",
      "1s to 60s; the shortest time between two lookups"),
    Key(
      "resolve.maximum", "duration", "`30s`, or `minimum` if that is more",
      "`minimum` to 1h; the longest"),
    Key(
      "resolve.timeout", "duration", "`2s`",
      "0.1s to 30s; of one lookup with all its tries"),
    Key(
      "resolve.family", "text", "`any`",
      "`any`, `ipv4` or `ipv6`"),
    Key(
      "resolve.servers", "list", "those of the system",
      """
      1 to 4 name servers for this entry alone, on port 53 unless one is given: `servers: ["10.0.0.2:53", \
      "[2001:db8::2]:53"]`
      """),
    Key(
      "balance", "word or mapping", "`leastRequests`",
      "`leastRequests`, `roundRobin`, or a mapping with `policy`"),
    Key(
      "balance.policy", "word", "required",
      "`leastRequests`, `roundRobin` or `consistentHash`"),
    Key(
      "balance.key", "text", "required for `consistentHash`",
      """
      `client` (the client's address, which a trusted proxy may report), `header NAME` or `cookie NAME`. A \
      request without it goes by `leastRequests`
      """),
    Key(
      "balance.factor", "number or `off`", "`1.25`",
      "1.05 to 10; an endpoint with more than this times its part of the requests under way passes on"),
    Key(
      "outlier", "mapping or `off`", "on",
      "leaves out endpoints that fail; one endpoint alone never is"),
    Key(
      "outlier.consecutiveFailures", "integer", "`5`",
      "1 to 1000 in a row"),
    Key(
      "outlier.failureRatio", "number", "`0.5`",
      "0.01 to 1; failed ÷ ended attempts"),
    Key(
      "outlier.minimumRequests", "integer", "`20`",
      "1 to 1000000; attempts in the window before the ratio counts"),
    Key(
      "outlier.window", "duration", "`10s`",
      "1s to 60s"),
    Key(
      "outlier.ejectFor", "duration", "`10s`",
      "1s to 1h; the n-th time in a row lasts n times as long, ±10 %"),
    Key(
      "outlier.longest", "duration", "`5m`, or `ejectFor` if that is more",
      "`ejectFor` to 1h; the longest time, and how long an endpoint must be quiet until earlier times are forgotten"),
    Key(
      "outlier.maximumShare", "number", "`0.5`",
      "0 to 1; of the endpoints of one priority, rounded down"),
    Key(
      "slowStart", "duration or `off`", "`10s`",
      "1s to 15m; the weight of an endpoint that is back, or new beside others, rises from 10 to 100 %"),
    Key(
      "panicThreshold", "number", "`0`",
      "0 to 1; if a smaller share of a priority's endpoints is available, all of it is used"),
    Key(
      "connectRetries", "integer", "`1`",
      """
      0 to 5; if no connection can be opened, the request goes to another endpoint, whatever its method, as \
      nothing was sent. Each counts in the retry budget. Needs no `retry`
      """),
    Key(
      "check", "mapping or `off`", "`off`",
      "active checks; `{}` only opens a connection, with the handshake on `https`"),
    Key(
      "check.path", "path", "none",
      "sends a request: `check: { path: /healthz }`"),
    Key(
      "check.method", "text", "`GET`",
      "needs `path`"),
    Key(
      "check.host", "host", "the endpoint as written",
      "needs `path`"),
    Key(
      "check.headers", "name: value", "none",
      """
      needs `path`: `headers: { X-Check: "1" }`
      """),
    Key(
      "check.status", "list", "`[200-399]`",
      "200 to 599; good statuses: `status: [200, 300-399]`. Needs `path`"),
    Key(
      "check.port", "integer", "the endpoint's",
      "1 to 65535; not for `unix:` endpoints, which have none"),
    Key(
      "check.interval", "duration", "`10s`",
      "0.5s to 1h, ±20 % at random; the first check comes within a second"),
    Key(
      "check.timeout", "duration", "`2s`, or `interval` if that is less",
      "0.1s to `interval`"),
    Key(
      "check.unhealthyAfter", "integer", "`3`",
      "1 to 100 bad checks in a row: the endpoint gets no requests"),
    Key(
      "check.healthyAfter", "integer", "`2`",
      "1 to 100 good ones: it gets requests again"),
    Key(
      "connectTimeout", "duration", "`5s`",
      "0.05s to 60s; for TCP and TLS. Also how long a request waits while the entry has no endpoint at all"),
    Key(
      "idleTimeout", "duration", "`60s`",
      "1s to 1h; connections that have been idle for so long are closed"),
    Key(
      "maximumAge", "duration or `off`", "`off`",
      "1s to 1 day; older connections are not used again"),
    Key(
      "silenceTimeout", "duration or `off`", "`off`; of streams `5m`",
      """
      0.1s to 1h without a byte, while the client is not what is slow: 504, or a response that breaks off. A \
      route's own takes precedence
      """),
    Key(
      "connections", "integer", "`512`",
      "1 to 8192; attempts under way per endpoint. Further requests wait as for other upstreams"),
    Key(
      "uploads", "integer", "half of all `connections`",
      "1 to 8192; large bodies on their way to the upstream"),
    Key(
      "parked", "integer", "all `connections`",
      """
      1 to 8192; responses that may wait for slow clients without counting as under way. For one more, that \
      one is reset whose client takes least ([gateway.md](gateway.md#the-configuration-file), *Slow clients*)
      """),
    Key(
      "tls", "mapping", "as for `upstream.tls`",
      """
      for `https`: `ca`, `certificate`, `key`, `serverName` (default: the endpoint as written), \
      `minimumVersion`, `pins`, as in [gateway.md](gateway.md#the-configuration-file)
      """),
    Key(
      "httpVersion", "text", "`1.1`",
      "`1.1`; `2` (asked for by ALPN, else 1.1); `2-prior-knowledge`. HTTP/2 needs libcurl 8.1 or later"),
    Key(
      "retryBudget", "mapping or `off`", "on",
      "as a route's `retry.budget`"),
    Key(
      "circuitBreaker", "mapping or `off`", "`off`",
      "as a route's"),
    Key(
      "overload", "mapping or `off`", "on",
      "as a route's"),
    Key(
      "destinationPolicy", "mapping", "none",
      "as a route's; judges each address. Those that it refuses are left out; if it refuses all, the answer is 502"),
  ]
}
