extension ConfigurationReference {
  /// Keys of the file itself.
  static let file: [Key] = [
    Key(
      "routes", "list", "required",
      "1 to 1000 routes"),
    Key(
      "listeners", "list", "that of `--gateway.listen-address`",
      "1 to 16 listeners, at which clients are awaited ([below](#listeners))"),
    Key(
      "upstreams", "list", "none",
      "upstreams with several endpoints, which routes name ([upstreams.md](upstreams.md))"),
    Key(
      "accessLog", "mapping or `off`", "`off`",
      """
      beside `routes`: a line for each request ([below](#access-log)). In a route only `accessLog: off`: its \
      requests have none
      """),
    Key(
      "accessLog.to", "path or text", "required",
      "the absolute path of a file or FIFO, `stderr` or `stdout`: `to: /var/log/weir/access.log`"),
    Key(
      "accessLog.format", "text", "`json`",
      "`json`, or `combined`, as Apache writes it"),
    Key(
      "accessLog.fields", "list", "none",
      """
      up to 32 of `query`, `user_agent`, `referer` and, for JSON, `header NAME`: what is logged beside the \
      fields below. It may hold secrets
      """),
    Key(
      "accessLog.sampleSuccesses", "number", "`1`",
      """
      0 to 1: the share of requests below 400 that have a line. All others have one, and so have responses \
      that were cut
      """),
    Key(
      "trace", "mapping or `off`", "`off`",
      """
      beside `routes`: whether traces are continued ([below](#traces-and-request-identifiers)); `{}` for the \
      defaults
      """),
    Key(
      "trace.begin", "boolean", "`true`",
      "whether a request without a valid `traceparent` begins a trace"),
    Key(
      "trace.sample", "number", "`0.01`",
      "0 to 1: the share of the traces begun here that are sampled"),
    Key(
      "requestId", "mapping or `off`", "`off`",
      "beside `routes`: whether requests and responses get an identifier; `{}` for the defaults"),
    Key(
      "requestId.header", "name", "`X-Request-ID`",
      "the field of the identifier"),
    Key(
      "requestId.trust", "boolean", "`true`",
      "whether a client's identifier of 1 to 128 visible octets is kept; `false`: each request gets a new one"),
  ]
}
