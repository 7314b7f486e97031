extension ConfigurationReference {
  /// Keys of a route that change requests and responses on their way.
  static let fields: [Key] = [
    Key(
      "stripPrefix", "boolean", "`false`",
      "`true`: the upstream sees the path without `match.pathPrefix`"),
    Key(
      "replacePrefix", "path", "none",
      """
      the upstream sees this in place of `match.pathPrefix`, at most 2048 bytes: `replacePrefix: /v2`; this or \
      `stripPrefix`
      """),
    Key(
      "rewriteHost", "host or `client`", "the upstream's",
      """
      `Host` as the upstream sees it: a host, perhaps with a port (`rewriteHost: shop.internal:8080`), or \
      `client` for the client's. A client's that is empty or holds a comma is not sent; the upstream's is
      """),
    Key(
      "headers", "mapping", "none",
      "changes to requests, after those that are always made (below)"),
    Key(
      "headers.set", "name: value", "none",
      """
      replaces every field of the name: `set: { X-Caller: shop, X-Real-IP: "{client}" }`
      """),
    Key(
      "headers.add", "name: value", "none",
      """
      a further field beside those of the name: `add: { X-Tag: gateway }`; not `Host`, `X-Forwarded-Host`, \
      `X-Forwarded-Proto` and `X-Retry-Attempt`, of which a request has one
      """),
    Key(
      "headers.remove", "list of names", "none",
      "`remove: [X-Debug]`"),
    Key(
      "responseHeaders", "mapping", "none",
      "changes to the upstream's responses, or to the route's own; not to errors of the gateway"),
    Key(
      "responseHeaders.set", "name: value", "none",
      """
      `set: { Strict-Transport-Security: max-age=31536000 }`; not `Via`, `Date` and the fields of framing and \
      connection
      """),
    Key(
      "responseHeaders.add", "name: value", "none",
      "`add: { Set-Cookie: seen=1 }`"),
    Key(
      "responseHeaders.remove", "list of names", "none",
      "`remove: [Server, X-Powered-By]`"),
    Key(
      "timeout", "duration", "`30s`",
      """
      more than 0, at most 1 day; covers all attempts and the waits between them. Before them, the body has \
      the same time to arrive. It ends with the head of a response that streams
      """),
    Key(
      "streaming", "boolean", "`true` for `text/event-stream`",
      """
      whether responses stream: `timeout` ends with their head ([below](#streams-and-long-downloads)). `true`: \
      all do; `false`: none
      """),
    Key(
      "silenceTimeout", "duration or `off`", "the upstream's; of streams `5m`",
      """
      0.1s to 1h without a byte from the upstream, while the client is not what is slow: 504, or a response \
      that breaks off
      """),
    Key(
      "destinationPolicy", "mapping", "none",
      """
      which of the upstream's addresses may be connected to: `destinationPolicy: { otherwise: publicOnly, \
      allow: [10.1.0.0/16] }`
      """),
    Key(
      "destinationPolicy.otherwise", "text", "required",
      "`any`, `publicOnly` or `none`: decides about addresses in neither list"),
    Key(
      "destinationPolicy.allow", "list of networks", "none",
      "`10.1.0.0/16`, `2001:db8::/32`, or an address"),
    Key(
      "destinationPolicy.deny", "list of networks", "none",
      "takes precedence over `allow`"),
  ]
}
