/// A configuration as written: every key optional, every value with its place. `ConfigurationBuilder` judges it.
struct ConfigurationDocument: Decodable, Sendable {
  let routes: Located<[Located<RouteDocument>]>?
}

struct RouteDocument: Decodable, Sendable {
  let name: Located<String>?
  let match: Located<MatchDocument>?
  let upstream: Located<String>?
  let stripPrefix: Located<Bool>?
  let headers: Located<HeadersDocument>?
  let timeout: Located<ConfigurationDuration>?
  let retry: Located<RetryDocument>?
}

struct MatchDocument: Decodable, Sendable {
  let host: Located<String>?
  let pathPrefix: Located<String>?
}

struct HeadersDocument: Decodable, Sendable {
  let set: Located<LocatedMap<String>>?
  let remove: Located<[Located<String>]>?
}

struct RetryDocument: Decodable, Sendable {
  let limit: Located<Int>?
  let statusCodes: Located<[Located<Int>]>?
  let methods: Located<[Located<String>]>?
}
