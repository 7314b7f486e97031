extension ConfigurationReference {
  /// Keys of a route that say which requests it takes, and from whom.
  static let matching: [Key] = [
    Key(
      "name", "text", "required",
      "1 to 64 bytes, unique; a label of metrics and logs: `name: payments`"),
    Key(
      "match", "mapping", "everything",
      """
      which requests the route takes: those for which all of its keys hold (below). No two routes may match \
      the same ones
      """),
    Key(
      "match.host", "host name or list", "every host",
      """
      up to 32 without port, in any case, addresses in any form, with or without brackets: `host: api.example.com`, `host: \
      [shop.example.com, "*.shop.example.com"]`. `*.` stands for one label or more
      """),
    Key(
      "match.path", "path", "none",
      "exactly this path, at most 2048 bytes: `path: /healthz`; only one of `path`, `pathPrefix` and `pathPattern`"),
    Key(
      "match.pathPrefix", "path", "`/`",
      "whole segments: `/v1` takes `/v1` and `/v1/x`, not `/v10`; at most 2048 bytes"),
    Key(
      "match.pathPattern", "pattern", "none",
      """
      `pathPattern: /users/*/orders/**`: `*` is one segment that is not empty, `**` at the end any number of \
      segments or none; at most 2048 bytes
      """),
    Key(
      "match.methods", "list", "every method",
      "case-sensitive; `HEAD` is not `GET`: `methods: [GET, HEAD]`"),
    Key(
      "match.headers", "name: condition", "none",
      """
      1 to 16 header fields: `headers: { X-Env: canary, Authorization: { prefix: "Bearer " }, X-Debug: { \
      present: false } }`
      """),
    Key(
      "match.headers.prefix", "text", "none",
      "how the value begins; in place of a whole value"),
    Key(
      "match.headers.present", "boolean", "none",
      "whether there is such a field, whatever its value"),
    Key(
      "match.query", "name: condition", "none",
      """
      1 to 16 items of the query: `query: { version: "2", trace: { present: true } }`
      """),
    Key(
      "match.query.prefix", "text", "none",
      "how the value begins"),
    Key(
      "match.query.present", "boolean", "none",
      "whether there is such an item, whatever its value"),
    Key(
      "match.clients", "list", "all clients",
      "1 to 1000 networks, addresses or `unix`: `clients: [10.0.0.0/8, unix]` ([Access](#access))"),
    Key(
      "match.listener", "name or list", "every listener",
      """
      the names of listeners by which requests come: `listener: internal`. A listener is renamed in two \
      reloads, the first of which names both: its open connections keep the old name
      """),
    Key(
      "clients", "mapping", "all clients",
      "which clients may use the route ([Access](#access)): `clients: { deny: [192.0.2.0/24] }`"),
    Key(
      "clients.allow", "list", "all clients",
      "1 to 1000 networks, addresses or `unix`; all other clients are refused"),
    Key(
      "clients.deny", "list", "none",
      "the same; takes precedence over `allow`"),
    Key(
      "auth", "mapping", "none",
      "the credentials that clients need ([Access](#access)); at least one user or token"),
    Key(
      "auth.basicUsers", "name: hash", "none",
      "users, and bcrypt hashes of their passwords, of cost 4 to 15: `htpasswd -nBC 10 NAME`"),
    Key(
      "auth.bearerTokens", "list", "none",
      "tokens: letters, digits and `-._~+/`, with `=` only at the end"),
    Key(
      "auth.file", "path", "none",
      """
      an absolute path: a file with more users and tokens, in `basic_auth_users` and `bearer_tokens` \
      ([access.md](access.md#with-the-program))
      """),
    Key(
      "auth.realm", "text", "the route's name",
      "1 to 256 bytes: the realm that clients show or keep credentials for"),
    Key(
      "auth.forward", "boolean", "`false`",
      "`true`: the upstream gets the client's `Authorization`"),
  ]
}
