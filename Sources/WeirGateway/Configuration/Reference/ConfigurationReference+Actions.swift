extension ConfigurationReference {
  /// Keys of a route that say where it leads.
  static let actions: [Key] = [
    Key(
      "upstream", "URL or mapping", "this, `redirect` or `respond`",
      """
      `http://host:port/base` or `https://…`; no query, no user name. The base goes before the path. An \
      address is sent as Host, and shown, in its one spelling: `127.1` is `127.0.0.1`. A dot at the end of a \
      name makes no other destination
      """),
    Key(
      "upstream.url", "URL", "required",
      """
      the same URL, if `tls` is needed too: `upstream: { url: https://10.0.0.7, tls: { serverName: \
      api.internal } }`
      """),
    Key(
      "upstream.tls", "mapping", "none",
      "for `https://` only; files are named by absolute paths, are at most 1 MiB and in PEM"),
    Key(
      "upstream.tls.ca", "file", "the system's roots",
      "the certificates that the upstream's must lead to, in place of the system's"),
    Key(
      "upstream.tls.certificate", "file", "none",
      "shown when the upstream asks for one, with the certificates that lead to its root"),
    Key(
      "upstream.tls.key", "file", "in `certificate`",
      "the certificate's private key, without a passphrase"),
    Key(
      "upstream.tls.serverName", "host name", "the URL's host",
      "the name asked for (SNI), which the upstream's certificate must have"),
    Key(
      "upstream.tls.minimumVersion", "text", "`1.2`",
      "`1.2` or `1.3`"),
    Key(
      "upstream.tls.pins", "list", "none",
      "SHA-256 of public keys in base64, of which the upstream must have one"),
    Key(
      "redirect", "mapping", "this, `upstream` or `respond`",
      "answers with another location (below): `redirect: { scheme: https }`"),
    Key(
      "redirect.status", "integer", "`308`",
      "301, 302, 303, 307 or 308"),
    Key(
      "redirect.scheme", "text", "the request's",
      "`http` or `https`"),
    Key(
      "redirect.host", "host name", "the request's",
      "without port: `host: www.example.com`"),
    Key(
      "redirect.port", "integer", "that of the scheme; the request's if neither scheme nor host is given",
      "1 to 65535"),
    Key(
      "redirect.path", "path", "the request's",
      "in place of the whole path, at most 2048 bytes: `path: /sale`; this or `prefix`"),
    Key(
      "redirect.prefix", "path", "the request's",
      "in place of `match.pathPrefix`, at most 2048 bytes: `prefix: /v2`"),
    Key(
      "redirect.keepQuery", "boolean", "`true`",
      "`false`: the location has no query"),
    Key(
      "respond", "mapping", "this, `upstream` or `redirect`",
      "answers with a fixed response: `respond: { status: 404 }`"),
    Key(
      "respond.status", "integer", "required",
      "200 to 599"),
    Key(
      "respond.body", "text", "none",
      "at most 64 KiB; none with 204, 205 and 304"),
    Key(
      "respond.contentType", "text", "`text/plain; charset=utf-8`",
      "the body's type: `contentType: application/json`"),
  ]
}
