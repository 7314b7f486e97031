extension ConfigurationReference {
  /// Keys of a route about bodies, tunnels and limits.
  static let bodies: [Key] = [
    Key(
      "compression", "mapping or `off`", "`off`",
      "which bodies are compressed or decoded on their way ([below](#compression))"),
    Key(
      "compression.responses", "text", "`off`",
      "`gzip`: responses are compressed for clients that accept it"),
    Key(
      "compression.types", "list", "text, JSON, JavaScript, XML, SVG",
      """
      1 to 100 types of responses that are compressed, without parameters: `types: [application/json, \
      "text/*", "application/*+json"]`. The default is `text/*`, `application/json`, `application/*+json`, \
      `application/javascript`, `application/xml`, `application/*+xml` and `image/svg+xml`; \
      `text/event-stream` is never compressed
      """),
    Key(
      "compression.minimumBytes", "integer", "`1024`",
      "1 to 1073741824; shorter bodies are not compressed. Bodies of unknown length always are"),
    Key(
      "compression.level", "integer", "`4`",
      "1 to 9: from the fastest to the smallest"),
    Key(
      "compression.decodeResponses", "boolean", "`false`",
      "`true`: gzip and deflate are removed for clients that don't accept them"),
    Key(
      "compression.decodeRequests", "boolean", "`false`",
      "`true`: gzip and deflate are removed before requests go to the upstream"),
    Key(
      "upgrade", "list or mapping", "none",
      "protocols other than HTTP to which clients may switch ([Tunnels](#tunnels)): `upgrade: [websocket]`"),
    Key(
      "upgrade.protocols", "list", "required",
      "1 to 16 names, perhaps with a version (`name/1`), of at most 64 bytes, in any case; not `h2c`"),
    Key(
      "upgrade.idleTimeout", "duration", "`10m`",
      "0.1s to 1d; a tunnel without a byte from either side for so long is closed"),
    Key(
      "upgrade.limit", "integer", "`1024`",
      "1 to 100000 tunnels of the route at once"),
    Key(
      "rateLimits", "list", "none",
      """
      1 to 4 limits on how many requests come ([below](#limits-on-requests)): `rateLimits: [{ name: clients, \
      rate: 100/s }]`
      """),
    Key(
      "rateLimits.name", "text", "required",
      "1 to 64 letters, digits, hyphens, underscores and dots, unique within the route; a label of metrics"),
    Key(
      "rateLimits.rate", "rate", "required",
      "`100/s`, `1000/m` or `5/h`; up to 1000000/s"),
    Key(
      "rateLimits.burst", "integer", "what `rate` allows in one second, rounded up",
      "1 to 1000000 requests that may come at once"),
    Key(
      "rateLimits.key", "text", "`client`",
      """
      `route`: all requests share the limit; `client`: those of one address do; `user`: those of one name of \
      `auth` do, and all with tokens share one; `header NAME`: those with the same first value of this field, \
      or without it
      """),
    Key(
      "rateLimits.clientPrefix6", "integer", "`64`",
      "32 to 128: the first bits of an IPv6 address that are one client; only with `client`"),
    Key(
      "rateLimits.enforce", "boolean", "`true`",
      "`false`: requests beyond the limit are counted, and go on"),
    Key(
      "rateLimits.scope", "text", "`local`",
      "`local`: the limit is this gateway's"),
    Key(
      "concurrency", "list", "none",
      "1 or 2 limits, with different keys, on how many requests are under way: `concurrency: [{ limit: 10 }]`"),
    Key(
      "concurrency.limit", "integer", "required",
      "1 to 100000"),
    Key(
      "concurrency.key", "text", "`client`",
      "as in `rateLimits`"),
    Key(
      "concurrency.clientPrefix6", "integer", "`64`",
      "as in `rateLimits`"),
    Key(
      "concurrency.enforce", "boolean", "`true`",
      "as in `rateLimits`"),
    Key(
      "bodyBytes", "integer", "the listener's `limits.bodyBytes`",
      "1 to 1099511627776; a larger body of a request gets 413. A listener's smaller limit counts too"),
    Key(
      "adaptiveConcurrency", "mapping or `off`", "none",
      """
      replaced by `overload`, with a warning; if there is no `overload`, three of its keys are read as keys of \
      `overload`
      """),
    Key(
      "adaptiveConcurrency.minimum", "integer", "none",
      "1 to 512; read as `overload.minimum`"),
    Key(
      "adaptiveConcurrency.initial", "integer", "none",
      "`minimum` to 512; read as `overload.initial`"),
    Key(
      "adaptiveConcurrency.tolerance", "number", "none",
      "1 to 100; read as `overload.tolerance`"),
    Key(
      "adaptiveConcurrency.smoothing", "number", "none",
      "ignored"),
    Key(
      "adaptiveConcurrency.window", "duration", "none",
      "ignored"),
    Key(
      "adaptiveConcurrency.baseline", "duration", "none",
      "ignored"),
  ]
}
