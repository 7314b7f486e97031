import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// A session's access to its `URLCache`. `URLCache` reads and writes files in its calls, so they run on the session's
/// workers. They run one at a time, so that a lookup finds what was stored before.
final class ResponseCache: Sendable {
  /// A stored response that can be served.
  struct Found: Sendable {
    var entry: CacheEntry
    let response: HTTPURLResponse
    let data: Data
    let storagePolicy: URLCache.StoragePolicy
  }

  /// Foundation's cache on Linux records a key that is already present a second time, and traps when it evicts the
  /// second record. So the old response is removed first. The lock keeps sessions that share a cache from storing in
  /// between.
  private static let replacing = Mutex<Void>(())

  private let storage: URLCache
  private let lane: FileLane

  init(_ storage: URLCache, workers: WorkerPool) {
    self.storage = storage
    lane = FileLane(workers: workers)
  }

  /// The largest response that can be stored.
  var maximumSize: Int { max(storage.memoryCapacity, storage.diskCapacity) }

  /// Answers with the stored response for `url`; the caller checks whether it fits.
  func find(_ url: String, _ answer: @escaping @Sendable (Found?) -> Void) {
    lane.submit { [storage] in
      answer(Self.key(url).flatMap(storage.cachedResponse(for:)).flatMap(Found.init))
    }
  }

  func store(_ response: CachedURLResponse, as entry: CacheEntry) {
    guard response.storagePolicy != .notAllowed, let http = response.response as? HTTPURLResponse,
      let note = try? JSONEncoder().encode(entry)
    else { return }
    var info = response.userInfo ?? [:]
    info[Found.note] = note
    let noted = CachedURLResponse(
      response: http, data: response.data, userInfo: info, storagePolicy: response.storagePolicy)
    lane.submit { [storage] in
      guard let key = Self.key(entry.url) else { return }
      Self.replacing.withLock { _ in
        storage.removeCachedResponse(for: key)
        storage.storeCachedResponse(noted, for: key)
      }
    }
  }

  func remove(_ url: String) {
    lane.submit { [storage] in
      if let key = Self.key(url) { storage.removeCachedResponse(for: key) }
    }
  }

  /// Foundation's cache on Linux tells URLs apart only by host, port and path, and makes file names of them on disk. So
  /// its keys are names of equal length that depend on the whole URL.
  private static func key(_ url: String) -> URLRequest? {
    URL(string: "weir://cache/\(SHA256.hexadecimal(of: Array(url.utf8)))").map { URLRequest(url: $0) }
  }
}

extension ResponseCache.Found {
  /// The key of weir's own entry in the `userInfo` of a response.
  static let note = "weir"

  /// Nil if the response was stored by other code, or its note can't be decoded any more.
  init?(_ cached: CachedURLResponse) {
    guard let response = cached.response as? HTTPURLResponse, let note = cached.userInfo?[Self.note] as? Data,
      let entry = try? JSONDecoder().decode(CacheEntry.self, from: note)
    else { return nil }
    self.init(entry: entry, response: response, data: cached.data, storagePolicy: cached.storagePolicy)
  }

  /// The form in which the response goes back into the cache.
  var cached: CachedURLResponse {
    CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: storagePolicy)
  }

  /// The response with the fields of a 304 (RFC 9111 §4.3.4). Field names keep their stored spelling.
  func updated(
    with fields: [String: String], request: [String: String], requested: Double, received: Double
  ) -> ResponseCache.Found {
    var entry = entry
    entry.update(with: fields.lowercasingNames(), request: request, requested: requested, received: received)
    var merged = response.textFields
    for (name, value) in fields where !CacheEntry.isOfTheBody(FieldSyntax.lowercased(name)) {
      for known in merged.keys where FieldSyntax.isSameName(known, name) { merged[known] = nil }
      merged[name] = value
    }
    for name in merged.keys where entry.fields[FieldSyntax.lowercased(name)] == nil { merged[name] = nil }
    let updated = response.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: response.statusCode, httpVersion: "HTTP/1.1", headerFields: merged)
    }
    return ResponseCache.Found(
      entry: entry, response: updated ?? response, data: data, storagePolicy: storagePolicy)
  }
}

extension HTTPURLResponse {
  var textFields: [String: String] { headers.dictionary }
}

extension [String: String] {
  func lowercasingNames() -> [String: String] {
    reduce(into: [:]) { $0[FieldSyntax.lowercased($1.key)] = $1.value }
  }
}

/// An attempt's use of the cache.
final class CacheUse {
  typealias Ending = (error: TransferError?, report: TransferReport)

  let url: String
  let rules: CacheRules
  /// The fields of the request as it was sent, by lower-case name: cookies may have been added while it waited.
  var sent: [String: String]
  /// The stored response that the server is asked to revalidate.
  var questioned: ResponseCache.Found?
  /// The entry that will be stored if the rest of the response comes.
  var candidate: CacheEntry?
  /// The body so far, for requests that don't keep it themselves.
  var collected: Data?
  /// When the request was sent.
  var requested = 0.0
  /// The body of a stored response that is not yet wholly delivered, and how much of it is.
  var served: Data?
  var offset = 0
  var isFeeding = false
  /// The end of the revalidating transfer that led to the stored body.
  var ending: Ending?

  init(url: String, rules: CacheRules) {
    self.url = url
    self.rules = rules
    sent = rules.fields
  }
}

extension HopRequest {
  /// The request's key in the cache; nil if its response is not stored, as the URL contains user information (a
  /// password).
  var cacheURL: String? {
    guard let origin, let target, !origin.contains("@"), let url,
      let host = url.host(percentEncoded: false), let destination = Destination(url: url)
    else { return nil }
    // A final dot stays: it is in the Host field too, by which a server may choose what it answers.
    return "\(destination.scheme)://\(CanonicalHost(host).inURL):\(destination.port)\(target)"
  }
}
