/// The last attempt's request, head, body and metrics. An object, as a generic response copies each of its own
/// properties by their types' metadata.
final class ResponseContents: Sendable {
  let hop: HopRequest?
  let head: LazyHTTPResponse?
  let data: Data?
  let metrics: TransferMetrics?

  init(hop: HopRequest?, head: LazyHTTPResponse?, data: Data?, metrics: TransferMetrics?) {
    self.hop = hop
    self.head = head
    self.data = data
    self.metrics = metrics
  }
}
