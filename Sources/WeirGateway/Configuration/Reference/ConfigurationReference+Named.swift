extension ConfigurationReference {
  /// Keys of a route that leads to entries of `upstreams`.
  static let namedUpstreams: [Key] = [
    Key(
      "upstream", "name or list", "",
      "an entry's name, or 2 to 16 of `{ name, weight }`"),
    Key(
      "upstream.weight", "integer", "`1`",
      "0 to 1000; the share of the requests. Retries stay with the entry that was drawn"),
    Key(
      "splitBy", "text", "drawn per request",
      "`client` or `header NAME`: equal values go to one entry. A request without the field is drawn"),
    Key(
      "fallback", "mapping", "none",
      "what the client gets in place of the gateway's own 502, 503 and 504"),
    Key(
      "fallback.upstream", "name", "this or `respond`",
      """
      sends the request to another entry, once, after all retries and in what is left of `timeout`. Only \
      requests that could be retried: by `retry.methods`, with a body of at most 64 KiB, and within that \
      entry's `retryBudget` (below)
      """),
    Key(
      "fallback.respond", "mapping", "this or `upstream`",
      "a fixed response, with the keys of `respond`"),
    Key(
      "fallback.statusCodes", "list", "502, 503, 504",
      "one or more of these: which answers are replaced. A response of an upstream never is"),
  ]
}
